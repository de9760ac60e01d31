import { afterAll, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pixelmillCommand } from "../e2e/command.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

const withoutLandlock = join(import.meta.dir, "../e2e/without-landlock.ts");
const cwd = temporaryDirectory();
afterAll(() => removeDirectory(cwd));

async function check(flags: string[], options: { before?: string[]; env?: object } = {}) {
  const { before = [], env = {} } = options;
  const command = [...before, ...pixelmillCommand, "check"];
  const free = ["--host", "127.0.0.1", "--port", "0", "--admin-port", "0"];
  const child = Bun.spawn([...command, ...free, ...flags], {
    cwd,
    env: { ...env } as Record<string, string>,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const lines = output.trim().split("\n");
  return {
    code: await child.exited,
    errors,
    output,
    line: (of: string) => lines.find((it) => it.includes(` ${of}:`)),
  };
}

test("a machine that has everything passes every check, and no file is left", async () => {
  const found = await check(["--log-level", "warn"], {
    env: { PIXELMILL_ADMIN_TOKEN: `pm_${"s".repeat(40)}` },
  });
  expect({ code: found.code, errors: found.errors }).toEqual({ code: 0, errors: "" });
  expect(found.line("settings")).toContain("admin.token = (set), log.level = warn");
  expect(found.output).not.toContain("ssss");
  expect(found.line("user code in JavaScript")).toBe(
    "ok    user code in JavaScript: runs confined",
  );
  expect(found.line("user code in Python")).toBe("ok    user code in Python: runs confined");
  expect(found.line("disk speed")).toContain("a durable write takes");
  expect(readdirSync(cwd)).toEqual([]);
}, 300_000);

test("a failed check names the problem and the remedy", async () => {
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  writeFileSync(join(cwd, "file"), "");
  const flags = ["--port", String(taken.port), "--admin-host", "203.0.113.9", "--data", "file/x"];
  const found = await check(flags, { before: [process.execPath, withoutLandlock] });
  taken.stop();
  expect(found.code).toBe(1);
  expect(found.line("data plane")).toBe(
    `warns data plane: Cannot listen on 127.0.0.1 port ${taken.port}: address already in use (EADDRINUSE)`,
  );
  expect(found.line("control plane")).toStartWith(
    "fails control plane: Cannot listen on 203.0.113.9",
  );
  expect(found.line("data")).toStartWith("fails data: Cannot use ");
  expect(found.line("user code in JavaScript")).toContain("this kernel has no Landlock");
}, 300_000);
