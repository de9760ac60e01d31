import fc from "fast-check";
import type { Catalog } from "../../src/catalog/catalog.ts";
import type { CompactionBounds } from "../../src/store/ordered/log-compaction.ts";
import { destination } from "./_setup.ts";
import { beginning, commands, type Real } from "./commands.ts";
import { Model } from "./model.ts";

type Command = fc.AsyncCommand<Model, Real>;

/** Bounds so low that the catalog's log is compacted again and again, some rows at a time. */
export const tight: CompactionBounds = {
  ...{ min: { rows: 50, bytes: 1 << 20 }, factor: 0, portion: { rows: 500, bytes: 128 << 10 } },
  stalledMs: 1_000,
  keptMs: 300,
};

/**
 * Random sequences of triggers, each in a workspace of its own and each command through any of the
 * nodes; expects after each command what the model says.
 */
export async function runTriggers(nodes: readonly Catalog[], atOnce: number, runs: number) {
  const any = () => nodes[Math.floor(Math.random() * nodes.length)]!;
  const spread = commands.map((it) => it.map((command) => onAnyNode(command, any)));
  const sequence = fc.commands(spread, { maxCommands: 20, size: "+1" });
  const sequences = fc.array(sequence, { minLength: atOnce, maxLength: atOnce, size: "max" });
  const property = fc.asyncProperty(sequences, async (all) => {
    await Promise.all(
      all.map(async (triggers) => {
        const state = await freshState(any());
        const begun = beginning.map((command) => onAnyNode(command, any));
        await fc.asyncModelRun(() => state, begun);
        await fc.asyncModelRun(() => state, triggers);
      }),
    );
  });
  await fc.assert(property, { numRuns: runs, endOnFailure: true });
}

/** Every command goes to another node, which must know what the others have answered. */
function onAnyNode(command: Command, any: () => Catalog): Command {
  return {
    check: (model) => command.check(model),
    async run(model, real) {
      const catalog = any();
      await catalog.current();
      await command.run(model, { ...real, catalog });
    },
    toString: () => command.toString(),
  };
}

async function freshState(catalog: Catalog): Promise<{ model: Model; real: Real }> {
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const destinations = [1, 2, 3].map(() => destination(catalog, workspaceId));
  const model = new Model(await Promise.all(destinations));
  return { model, real: { catalog, workspaceId } };
}
