import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { ApiError } from "../../src/errors.ts";
import { MemoryLog } from "../store/memory-log.ts";
import { destination, freshCatalog, freshDirectory } from "./_setup.ts";
import { beginning, commands, type Real } from "./commands.ts";
import { contradictions } from "./consistency.ts";
import { Model } from "./model.ts";

type Command = fc.AsyncCommand<Model, Real>;

/** Workspaces that work at once: in each other's way on the log, and not to see each other. */
const AT_ONCE = 64;
const RUNS = 3;

async function openNodes(count: number, log = new MemoryLog({ delayMs: () => Math.random() })) {
  const directories = await Promise.all(Array.from({ length: count }, () => freshDirectory()));
  const nodes = await Promise.all(directories.map((directory) => freshCatalog(directory, log)));
  return { directories, nodes, any: () => nodes[Math.floor(Math.random() * count)]! };
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

test(`${AT_ONCE * RUNS} sequences of triggers on three nodes leave what the model says`, async () => {
  const { directories, nodes, any } = await openNodes(3);
  const spread = commands.map((it) => it.map((command) => onAnyNode(command, any)));
  const sequence = fc.commands(spread, { maxCommands: 20, size: "+1" });
  const sequences = fc.array(sequence, { minLength: AT_ONCE, maxLength: AT_ONCE, size: "max" });
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
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
  await Promise.all(nodes.map((node) => node.current()));
  await Promise.all(nodes.map((node) => node.close()));
  for (const directory of directories) expect(await contradictions(directory)).toEqual([]);
}, 300_000);

test("what only one may have is given to one, whichever nodes are asked at once", async () => {
  const { nodes } = await openNodes(3);
  const [first] = nodes as [Catalog];
  const { id: workspaceId } = await first.workspaces.create("Acme");
  const source = await first.sources.create(workspaceId, { name: "S" });
  const destinationId = await destination(first, workspaceId);
  const secret = `pm_${"s".repeat(32)}`;
  await Promise.all(nodes.map((node) => node.current()));
  const outcomes = await Promise.allSettled([
    ...nodes.map((it) => {
      const pair = { sourceId: source.id, destinationId };
      return it.connections.create(workspaceId, pair, {});
    }),
    ...nodes.map((it) =>
      it.tokens.create(workspaceId, { name: "T", permissions: ["events:read"], secret }),
    ),
  ]);
  const refused = outcomes.filter((it) => it.status === "rejected").map(({ reason }) => reason);
  expect(refused).toHaveLength(4);
  for (const reason of refused) {
    expect(reason).toBeInstanceOf(ApiError);
    expect(reason.refusal).toBe("conflict");
  }
  await Promise.all(nodes.map((node) => node.current()));
  for (const node of nodes) expect(node.connections.list(workspaceId, 1).total).toBe(1);
});

async function freshState(catalog: Catalog): Promise<{ model: Model; real: Real }> {
  const workspaceId = (await catalog.workspaces.create("Acme")).id;
  const destinations = [1, 2, 3].map(() => destination(catalog, workspaceId));
  const model = new Model(await Promise.all(destinations));
  return { model, real: { catalog, workspaceId } };
}
