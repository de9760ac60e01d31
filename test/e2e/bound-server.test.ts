import { expect } from "bun:test";
import { join } from "node:path";
import { missingPrograms, testWith } from "../counterpart.ts";
import { isAlive } from "../ingest/ingest-support.ts";
import { boundCommand } from "../shared.ts";
import { removeDirectory, waitFor } from "./server.ts";

const program = `
  const { startServer } = await import(${JSON.stringify(join(import.meta.dir, "server.ts"))});
  const { pid, directory } = await startServer();
  console.log(JSON.stringify({ pid, directory }));
  setInterval(() => {}, 60_000);
`;

testWith(missingPrograms("setpriv"))(
  "a server of a test ends with the process that started it, also when that one is killed",
  async () => {
    const command = [...boundCommand, process.execPath, "-e", program];
    const child = Bun.spawn(command, { stdout: "pipe" });
    const { value } = await child.stdout.getReader().read();
    const { pid, directory } = JSON.parse(Buffer.from(value!).toString());
    expect(await isAlive(pid)).toBe(true);
    child.kill("SIGKILL");
    await waitFor(async () => !(await isAlive(pid)));
    removeDirectory(directory);
  },
);
