import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { runs } from "../tier.ts";
import { destination, freshCatalog, freshDirectory } from "./_setup.ts";
import { beginning, commands, type Real } from "./commands.ts";
import { contradictions } from "./consistency.ts";
import { Model } from "./model.ts";

/** Workspaces that work at once: they share the disk's flushes, and must not see each other. */
const AT_ONCE = 32;
const SEQUENCES = runs(256, 2_048);

test(`${SEQUENCES} sequences of triggers leave the state of the model`, async () => {
  const directory = await freshDirectory();
  const catalog = await freshCatalog(directory);
  const sequence = fc.tuple(fc.boolean(), fc.commands(commands, { maxCommands: 20, size: "+1" }));
  const sequences = fc.array(sequence, { minLength: AT_ONCE, maxLength: AT_ONCE, size: "max" });
  const property = fc.asyncProperty(sequences, (all) =>
    Promise.all(
      all.map(async ([begun, triggers]) => {
        const state = await freshState(catalog);
        if (begun) await fc.asyncModelRun(() => state, beginning);
        await fc.asyncModelRun(() => state, triggers);
      }),
    ).then(() => undefined),
  );
  await fc.assert(property, { numRuns: SEQUENCES / AT_ONCE });
  expect(await contradictions(directory)).toEqual([]);
}, 900_000);

async function freshState(catalog: Catalog): Promise<{ model: Model; real: Real }> {
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const destinations = [1, 2, 3].map(() => destination(catalog, workspaceId));
  const model = new Model(await Promise.all(destinations));
  return { model, real: { catalog, workspaceId } };
}
