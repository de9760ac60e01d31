import { existsSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { keep, keptPath } from "../kept.ts";

/** Name of what is kept for brokers of this version. */
export const KAFKA = "kafka-4.1.0";
/** 45 jars, 43 MB. */
const directory = keptPath(KAFKA);
const DOWNLOAD_MS_MAX = 120_000;

/**
 * The class path of Apache Kafka, whose jars come from Maven Central at the first call; or, as a
 * sentence, why there are no brokers on this machine.
 */
export async function brokerJars(): Promise<{ classPath: string } | { missing: string }> {
  if (Bun.which("java") === null) return { missing: "Brokers want Java" };
  const classPath = join(directory, "*");
  if (existsSync(directory)) return { classPath };
  if (Bun.which("mvn") === null) return { missing: "The brokers' jars want Maven" };
  try {
    await keep(directory, download);
  } catch (error) {
    return { missing: (error as Error).message };
  }
  return { classPath };
}

async function download(directory: string): Promise<void> {
  const maven = Bun.spawn(
    [
      "mvn",
      "-B",
      "-q",
      "-f",
      join(import.meta.dir, "pom.xml"),
      "dependency:copy-dependencies",
    ].concat(`-DoutputDirectory=${directory}`, `-DbuildDirectory=${directory}`),
    { stdout: "pipe", stderr: "inherit", timeout: DOWNLOAD_MS_MAX },
  );
  const said = await new Response(maven.stdout).text();
  if ((await maven.exited) !== 0) throw new Error(`Maven has no jars: ${said.slice(0, 500)}`);
}

/**
 * File of classes that the Java of this machine has loaded and verified, with which a broker starts
 * in half the CPU time. Beside the jars, since it is of use as long as they and Java are the same.
 */
export function classArchive(): string {
  const java = realpathSync(Bun.which("java")!);
  const { mtimeMs } = statSync(java);
  return `${directory}-${Bun.hash(`${java} ${mtimeMs}`).toString(36)}.jsa`;
}
