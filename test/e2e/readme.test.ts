import { expect, test } from "bun:test";
import { examplesOf, runExamples, withoutChance } from "./readme.ts";
import { sectionOf, tables } from "./reference.ts";
import { removeDirectory, startServer } from "./server.ts";

const readme = await Bun.file("README.md").text();

test("every command of the README prints what the README shows", async () => {
  const token = readme.match(/PIXELMILL_ADMIN_TOKEN=(pm_\w+)/)![1]!;
  const server = await startServer({ environment: { PIXELMILL_ADMIN_TOKEN: token } });
  const examples = examplesOf(readme);
  const atServer = examples.map(({ command, output }) => ({
    command: command
      .replaceAll("localhost:8080", new URL(server.dataPlane).host)
      .replaceAll("localhost:8081", new URL(server.controlPlane).host),
    output,
  }));
  const printed = await runExamples(atServer, server.directory);
  await server.stop();
  removeDirectory(server.directory);

  expect(examples.length).toBeGreaterThan(10);
  expect(printed).toHaveLength(examples.length);
  for (const [index, { command, output }] of examples.entries()) {
    const shown = { command, output: withoutChance(output) };
    expect({ command, output: withoutChance(printed[index]!) }).toEqual(shown);
  }
}, 600_000);

test.each(["settings", "limits"])("its table of %s is that of the source", async (name) => {
  expect(sectionOf(readme, name)).toBe((await tables())[name]!);
});
