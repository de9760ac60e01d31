import { expect, test } from "bun:test";
import fc from "fast-check";
import { clusterStatus, problemsOf } from "../../../src/api/routes/status/cluster-status.ts";
import type { NodeHealth } from "../../../src/api/routes/status/local-status.ts";
import { runs } from "../../tier.ts";

const IDS = ["a", "b", "c"];
const PARTITIONS = [0, 1, 2, 3];

/**
 * A cluster as it is, and what one node sees of it: members that a coordinator may not list,
 * answers that may not arrive, and owners that ledgers may name late.
 */
const cluster = fc
  .record({
    alive: fc.uniqueArray(fc.constantFrom(...IDS), { minLength: 1 }),
    owners: fc.array(fc.constantFrom(...IDS), { minLength: 4, maxLength: 4 }),
    runsAt: fc.array(fc.option(fc.constantFrom(...IDS)), { minLength: 4, maxLength: 4 }),
    listed: fc.option(fc.subarray(IDS)),
    answering: fc.subarray(IDS),
    heard: fc.subarray(IDS),
    isBusWorking: fc.boolean(),
  })
  .map((it) => {
    const runsAt = it.runsAt.map((id) => (id !== null && it.alive.includes(id) ? id : undefined));
    const runningAt = (id: string) => PARTITIONS.filter((partition) => runsAt[partition] === id);
    const member = (id: string) => ({
      ...{ id, version: "1", controlPlaneUrl: "", partitions: runningAt(id) },
    });
    const answers = it.isBusWorking ? it.alive.filter((id) => it.answering.includes(id)) : [];
    const health = new Map<string, NodeHealth>(
      answers.map((id) => [id, { troubles: [], warnings: [], running: runningAt(id) }]),
    );
    return {
      runsAt,
      health,
      heard: new Set(it.heard),
      isBusWorking: it.isBusWorking,
      problems: problemsOf({
        name: "p",
        members: it.listed?.map(member),
        partitions: PARTITIONS.map((partition) => ({ partition, node: it.owners[partition]! })),
        health,
        heard: new Set(it.heard),
        unasked: it.isBusWorking ? undefined : "p.nodes is not written",
      }),
    };
  });

test("no problem contradicts an answer or a message, and none blames nodes while they cannot be asked", () => {
  const property = fc.property(cluster, ({ runsAt, health, heard, isBusWorking, problems }) => {
    for (const problem of problems) {
      const silent = /^Node (\w) does not answer$/.exec(problem)?.[1];
      if (silent !== undefined) {
        const isThere = health.has(silent) || heard.has(silent);
        expect([isBusWorking, isThere]).toEqual([true, false]);
      }
      const stopped = /^Partitions? ([\d, ]+) runs? at no node/.exec(problem)?.[1];
      for (const partition of stopped?.split(", ").map(Number) ?? []) {
        expect(isBusWorking).toBe(true);
        const at = runsAt[partition];
        if (at !== undefined) expect(health.has(at)).toBe(false);
      }
    }
  });
  fc.assert(property, { numRuns: runs(500, 3_000) });
});

test("a partition whose owner has gone and that no node runs is named with its last owner", () => {
  const health = new Map([["a", { troubles: [], warnings: [], running: [0] }]]);
  const members = [{ id: "a", version: "1", controlPlaneUrl: "", partitions: [0] }];
  const partitions = [
    { partition: 0, node: "gone" },
    { partition: 1, node: "gone" },
  ];
  const heard = new Set<string>();
  expect(problemsOf({ name: "p", members, partitions, health, heard, unasked: undefined })).toEqual(
    ["Partition 1 runs at no node: the last was gone"],
  );
  expect(
    problemsOf({
      ...{ name: "p", members: undefined, partitions, health, heard },
      unasked: "p.nodes is away",
    }),
  ).toEqual(["The coordinator of the group p does not say who its members are", "p.nodes is away"]);
});

test("a node whose answers come late and that is heard is not reported as silent", () => {
  const members = ["a", "b", "c"].map((id) => {
    return { id, version: "1", controlPlaneUrl: "", partitions: [] };
  });
  const health = new Map([["a", { troubles: [], warnings: [], running: [] }]]);
  const facts = { name: "p", members, partitions: [], health, unasked: undefined };
  expect(problemsOf({ ...facts, heard: new Set(["b"]) })).toEqual([
    "Node c does not answer",
    "The report of node b is missing here: an answer over the brokers takes too long",
  ]);
});

test("several nodes whose answers come late are one problem", () => {
  const members = ["a", "b", "c"].map((id) => {
    return { id, version: "1", controlPlaneUrl: "", partitions: [] };
  });
  const health = new Map([["a", { troubles: [], warnings: [], running: [] }]]);
  const facts = { name: "p", members, partitions: [], health, unasked: undefined };
  expect(problemsOf({ ...facts, heard: new Set(["b", "c"]) })).toEqual([
    "The reports of nodes b, c are missing here: an answer over the brokers takes too long",
  ]);
});

test("a partition may run at a member that does not tell what it runs", () => {
  const member = (id: string, partitions: number[]) => {
    return { id, version: "1", controlPlaneUrl: "", partitions };
  };
  const members = [member("a", [0]), member("old", [1])];
  const partitions = [0, 1, 2].map((partition) => ({ partition, node: "gone" }));
  // Nodes of an older version answer without the partitions that they run.
  const health = new Map<string, NodeHealth>([
    ["a", { troubles: [], warnings: [], running: [] }],
    ["old", { troubles: [], warnings: [] }],
  ]);
  const facts = { name: "p", members, partitions, health, heard: new Set<string>() };
  expect(problemsOf({ ...facts, unasked: undefined })).toEqual([
    "Partitions 0, 2 run at no node: the last was gone",
  ]);
});

/** A cluster of the nodes `a` and `b`, as `a` sees it. */
function clusterOf({ trouble }: { trouble?: string } = {}) {
  const asked: unknown[] = [];
  const node = (id: string, more: object = {}) => {
    return { id, version: "1", controlPlaneUrl: "", partitions: [], ...more };
  };
  const refused = [{ reason: "No guest starts", partitions: [1, 2] }];
  const health = { troubles: [], warnings: ["Old"], running: [1] };
  const stopped = [{ partition: 0, reason: "The disk is full" }];
  return {
    asked,
    deps: {
      ready: () => ({ checks: {}, warnings: [] }),
      diskSpace: () => ({ freeBytes: 1, sizeBytes: 2 }),
      nodes: async () => ({
        ...{ name: "p", node: "a", nodes: [node("a", { refused }), node("b")] },
        partitions: [0, 1].map((partition) => ({ partition, node: "b" })),
      }),
      others: {
        node: "a",
        ask: async (question: unknown) => {
          asked.push(question);
          return { answers: new Map([["b", { ...health, stopped }]]), missing: [] };
        },
        trouble: () => trouble,
      },
    } as unknown as Parameters<typeof clusterStatus>[0],
  };
}

test("the state of a cluster has what its nodes tell, and why partitions stand still", async () => {
  const { deps, asked } = clusterOf();
  const found = await clusterStatus(deps);
  const { nodes, partitions, problems } = found;
  expect(asked).toEqual([["health"]]);
  expect(found).toMatchObject({ name: "p", node: "a" });
  expect(problems).toEqual(["b: Old"]);
  expect(nodes.map((it) => [it.id, it.answers, it.problems])).toEqual([
    ["a", true, ["This node leaves partitions 1, 2 to others: No guest starts"]],
    ["b", true, ["Old"]],
  ]);
  expect(nodes[0]).not.toHaveProperty("refused");
  expect(partitions).toStrictEqual([
    { partition: 0, node: "b", stopped: "The disk is full" },
    { partition: 1, node: "b" },
  ]);
});

test("no node is asked while questions do not reach the others, and none is blamed", async () => {
  const { deps, asked } = clusterOf({ trouble: "The topic of questions is missing" });
  const { nodes, problems } = await clusterStatus(deps);
  expect([asked, problems]).toEqual([[], ["The topic of questions is missing"]]);
  expect(nodes.map(({ answers }) => answers)).toEqual([true, false]);
});

test("a server that is alone has no state of a cluster", async () => {
  const { deps } = clusterOf();
  const nothing = { nodes: [], partitions: [], problems: [] };
  for (const part of ["nodes", "others"]) {
    expect(await clusterStatus({ ...deps, [part]: undefined } as never)).toEqual(nothing);
  }
});
