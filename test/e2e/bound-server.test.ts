import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { missingPrograms, testWith } from "../counterpart.ts";
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
    const child = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe" });
    const { value } = await child.stdout.getReader().read();
    const { pid, directory } = JSON.parse(Buffer.from(value!).toString());
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    child.kill("SIGKILL");
    await waitFor(() => !existsSync(`/proc/${pid}`));
    removeDirectory(directory);
  },
);
