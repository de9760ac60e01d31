import { existsSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Outside the tree: 45 jars, 43 MB, the same for every checkout. */
const directory = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "pixelmill",
  "kafka-4.1.0",
);
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
  await mkdir(dirname(directory), { recursive: true });
  const part = mkdtempSync(`${directory}-`);
  try {
    const maven = Bun.spawn(
      [
        "mvn",
        "-B",
        "-q",
        "-f",
        join(import.meta.dir, "pom.xml"),
        "dependency:copy-dependencies",
      ].concat(`-DoutputDirectory=${part}`, `-DbuildDirectory=${part}`),
      { stdout: "pipe", stderr: "inherit", timeout: DOWNLOAD_MS_MAX },
    );
    const said = await new Response(maven.stdout).text();
    if ((await maven.exited) !== 0) return { missing: `Maven has no jars: ${said.slice(0, 500)}` };
    keepWhole(part);
    return { classPath };
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
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

/** Whole or not at all: other tests may look, or have been quicker. */
function keepWhole(part: string): void {
  try {
    renameSync(part, directory);
  } catch (error) {
    if (!existsSync(directory)) throw error;
  }
}
