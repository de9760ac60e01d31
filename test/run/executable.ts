/** Builds the executable of this checkout, as `npm run build` does, into the file `path`. */
export function buildExecutable(path: string): void {
  const command = [process.execPath, "src/build.ts", "--outfile", path];
  const { exitCode } = Bun.spawnSync(command, { stdout: "ignore", stderr: "inherit" });
  if (exitCode !== 0) throw new Error(`The executable cannot be built: exit code ${exitCode}`);
}
