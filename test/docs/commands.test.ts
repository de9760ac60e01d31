import { expect } from "bun:test";
import { missingPrograms, testWith } from "../counterpart.ts";
import { removeDirectory, startServer } from "../e2e/server.ts";
import { examplesOf, runExamples, withoutChance } from "./examples.ts";

/** The pages with commands, in the order in which a reader follows them in one shell. */
const pages = await Promise.all(
  ["docs/tutorial.md", "docs/api.md"].map((path) => Bun.file(path).text()),
);

testWith(missingPrograms("bash", "curl"))(
  "every command of the tutorial and of the API by task prints what the page shows",
  async () => {
    const token = pages[0]!.match(/PIXELMILL_ADMIN_TOKEN=(pm_\w+)/)![1]!;
    const server = await startServer({ environment: { PIXELMILL_ADMIN_TOKEN: token } });
    const examples = pages.flatMap(examplesOf);
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
  },
  600_000,
);
