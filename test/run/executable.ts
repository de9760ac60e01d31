import { renameSync, writeFileSync } from "node:fs";
import { buildMark } from "../e2e/command.ts";

/**
 * Builds the executable of this checkout, as `npm run build` does with less compression, into the
 * file `path`, which exists once it is whole.
 */
export async function buildExecutable(path: string): Promise<void> {
  writeFileSync(buildMark(path), "");
  const command = [process.execPath, "src/build.ts", "--fast", "--outfile", `${path}.part`];
  const build = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  const exitCode = await build.exited;
  if (exitCode !== 0) throw new Error(`The executable cannot be built: exit code ${exitCode}`);
  renameSync(`${path}.part`, path);
}
