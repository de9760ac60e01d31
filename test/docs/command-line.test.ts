import { afterAll, beforeAll, expect } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingPrograms, testWith } from "../counterpart.ts";
import { pixelmillCommand } from "../e2e/command.ts";
import { ADMIN_TOKEN, removeDirectory, type Server, startServer } from "../e2e/server.ts";
import { examplesOf, runExamples, withoutChance } from "./examples.ts";

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
  removeDirectory(server.directory);
});

testWith(missingPrograms("bash"))(
  "every command of the page about the command line prints what the page shows",
  async () => {
    const command = join(server.directory, "pixelmill");
    const words = pixelmillCommand.map((word) => `'${word}'`).join(" ");
    const exports = `export PIXELMILL_SERVER=${server.controlPlane} PIXELMILL_TOKEN=${ADMIN_TOKEN}`;
    writeFileSync(command, `#!/bin/sh\n${exports}\nexec ${words} "$@"\n`);
    chmodSync(command, 0o755);

    const examples = examplesOf(await Bun.file("docs/command-line.md").text());
    const atServer = examples.map((it, at) =>
      at === 0 ? { ...it, command: `PATH=$PWD:$PATH; ${it.command}` } : it,
    );
    const printed = await runExamples(atServer, server.directory);
    expect(examples.length).toBeGreaterThan(0);
    expect(printed).toHaveLength(examples.length);
    for (const [at, { command, output }] of examples.entries()) {
      expect({ command, output: withoutChance(printed[at]!) }).toEqual({
        command,
        output: withoutChance(output),
      });
    }
  },
  600_000,
);
