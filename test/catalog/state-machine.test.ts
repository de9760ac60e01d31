import { expect, test } from "bun:test";
import fc from "fast-check";
import { destination, freshCatalog, freshDirectory } from "./_setup.ts";
import { commands } from "./commands.ts";
import { contradictions } from "./consistency.ts";
import { Model } from "./model.ts";

const SEQUENCES = 2_000;

test(`${SEQUENCES} sequences of triggers leave what specification §3 says`, async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const sequence = fc.commands(commands, { maxCommands: 24 });
  const property = fc.asyncProperty(sequence, async (triggers) => {
    const workspaceId = (await catalog.workspaces.create("Acme")).id;
    const destinations = [1, 2, 3].map(() => destination(catalog, workspaceId));
    const model = new Model(await Promise.all(destinations));
    await fc.asyncModelRun(() => ({ model, real: { catalog, workspaceId } }), triggers);
  });
  await fc.assert(property, { numRuns: SEQUENCES });
  expect(await contradictions(directory)).toEqual([]);
}, 120_000);
