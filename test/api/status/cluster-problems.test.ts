import { expect, test } from "bun:test";
import fc from "fast-check";
import { problemsOf } from "../../../src/api/routes/status/cluster-status.ts";
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
