import { expect, test } from "bun:test";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { ApiError } from "../../src/errors.ts";
import { encodeChangeSet, SHARED_FORMAT } from "../../src/store/ordered/change-set.ts";
import type { OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import { MemoryLog } from "../store/memory-log.ts";
import { runs } from "../tier.ts";
import { until } from "../until.ts";
import { destination, freshCatalog, freshDirectory, logger } from "./_setup.ts";
import { contradictions } from "./consistency.ts";
import { runTriggers, tight } from "./on-nodes.ts";

/** Workspaces that work at once: in each other's way on the log, and not to see each other. */
const AT_ONCE = 64;
const RUNS = runs(2, 6);

async function openNodes(count: number, log = new MemoryLog({ delayMs: () => Math.random() })) {
  const directories = await Promise.all(Array.from({ length: count }, () => freshDirectory()));
  const nodes = await Promise.all(
    directories.map((directory) => freshCatalog(directory, log, tight)),
  );
  return { directories, nodes };
}

test(`${AT_ONCE * RUNS} sequences of triggers on three nodes leave the state of the model`, async () => {
  const log = new MemoryLog({ delayMs: () => Math.random() });
  const { directories, nodes } = await openNodes(3, log);
  await runTriggers(nodes, AT_ONCE, RUNS);
  // The first 50 entries began a compaction, which pauses between its steps for up to a second.
  await until(async () => {
    await Promise.all(nodes.map((node) => node.current()));
    return log.first > 0;
  });
  await Promise.all(nodes.map((node) => node.close()));
  for (const directory of directories) expect(await contradictions(directory)).toEqual([]);
}, 300_000);

test("a catalog that cannot be opened stops reading its log", async () => {
  const log = new MemoryLog({ delayMs: () => 0 });
  const set = { author: "newer", number: 0, base: -1, writes: [] };
  for (const entry of encodeChangeSet(set, SHARED_FORMAT + 1)) await log.append(entry);
  let following = 0;
  const watched: OrderedLog = {
    append: (entry) => log.append(entry),
    knownEnd: () => log.knownEnd(),
    trim: (position) => log.trim(position),
    trouble: () => log.trouble(),
    follow(position, take) {
      const follower = log.follow(position, take);
      following++;
      return {
        close() {
          following--;
          return follower.close();
        },
      };
    },
  };
  const directory = await freshDirectory();
  const opening = openCatalog({ directory, logger, order: watched });
  await expect(opening).rejects.toThrow("a newer pixelmill wrote it");
  expect(following).toBe(0);
});

test("concurrent requests at several nodes give a unique name or link to one of them", async () => {
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
