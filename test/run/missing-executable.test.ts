import { expect, test } from "bun:test";
import { join } from "node:path";
import { executableVariable } from "../e2e/command.ts";

test("a test that starts a server fails when the executable is missing and nothing builds it", () => {
  const { exitCode, stderr } = Bun.spawnSync(
    [process.execPath, join(import.meta.dir, "../e2e/command.ts")],
    { env: { ...process.env, [executableVariable]: "/nowhere/pixelmill" }, timeout: 60_000 },
  );
  expect(stderr.toString()).toContain("/nowhere/pixelmill, which does not exist");
  expect(exitCode).toBe(1);
});
