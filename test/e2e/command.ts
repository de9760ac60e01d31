import { existsSync } from "node:fs";
import { join } from "node:path";

/** Variable with the path of the executable that the runner has built from this checkout. */
export const executableVariable = "TEST_EXECUTABLE";

/** File beside an executable that the runner is building, from before its first test to its end. */
export const buildMark = (executable: string) => `${executable}.building`;

const executable = process.env[executableVariable];
// The runner builds the executable beside the first tests.
while (executable !== undefined && !existsSync(executable)) {
  if (!existsSync(buildMark(executable))) {
    throw new Error(
      `${executableVariable} names ${executable}, which does not exist. Unset it to start servers from the checkout, or build the file with \`bun src/build.ts --outfile ${executable}\``,
    );
  }
  await Bun.sleep(50);
}

/** Options of the engine with which the runner has started this process. */
const engineOptions = Object.entries(process.env)
  .filter(([name]) => name.startsWith("BUN_JSC_"))
  .map(([name, value]) => `${name}=${value}`);

/**
 * Words before a command that give its process the options of the engine which the runner has set:
 * tests start servers and guests in environments of their own.
 */
export const withEngineOptions =
  engineOptions.length > 0 ? [Bun.which("env")!, ...engineOptions] : [];

/**
 * Command that starts pixelmill. Under the runner it is the executable, which starts with a third
 * of the CPU time that the checkout needs.
 */
export const pixelmillCommand =
  executable === undefined
    ? [process.execPath, join(import.meta.dir, "../../src/main.ts")]
    : [...withEngineOptions, executable];

/** Runs pixelmill to its end, in an environment of these variables alone. */
export async function runPixelmill(
  args: readonly string[],
  { environment = {}, cwd = "." }: { environment?: Record<string, string>; cwd?: string } = {},
): Promise<{ code: number; output: string; errors: string }> {
  const child = Bun.spawn([...pixelmillCommand, ...args], {
    ...{ cwd, env: environment, stdout: "pipe", stderr: "pipe" },
  });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, output, errors };
}
