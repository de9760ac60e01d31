import { expect, test } from "bun:test";
import type { Group } from "@platformatic/kafka";
import { assignToMembers, DescribedNodes } from "../../src/cluster/membership/introduction.ts";

/** A group as brokers describe it: while members join, without what they sent and were assigned. */
function groupOf(ids: readonly string[], isJoining = false): Group {
  const members = ids.map((id) => {
    const introduction = JSON.stringify({ id, version: "1", controlPlaneUrl: "" });
    return [
      id,
      isJoining
        ? {}
        : {
            metadata: { metadata: introduction },
            assignments: new Map([["t", { topic: "t", partitions: [1, 0] }]]),
          },
    ];
  });
  return { members: new Map(members as []) } as unknown as Group;
}

test("the nodes are those before members began to join, and unknown if none were described", () => {
  const nodes = new DescribedNodes();
  expect(nodes.take(groupOf(["a", "b"], true), "t")).toBeUndefined();
  const known = [{ id: "a", version: "1", controlPlaneUrl: "", partitions: [0, 1], refused: [] }];
  expect(nodes.take(groupOf(["a"]), "t")).toEqual(known);
  expect(nodes.take(groupOf(["a", "b"], true), "t")).toEqual(known);
  expect(nodes.take(groupOf(["a", "b"]), "t")).toMatchObject([{ id: "a" }, { id: "b" }]);
  expect(nodes.take(groupOf([]), "t")).toEqual([]);
});

/** Metadata of group members that are no nodes. */
const foreign = ["", "\0\0\0\u0001", "null", "7", '{"id":"x"}', introduction("x", { refused: 7 })];

function introduction(id: string, more: object = {}): string {
  return JSON.stringify({ id, version: "1", controlPlaneUrl: "", ...more });
}

test("members of the group that are no nodes are not described, and get no partitions", () => {
  const sent = [introduction("a"), ...foreign, introduction("b", { canRun: [0, 1, 2, 3] })];
  const described = sent.map((metadata, index) => [`m${index}`, { metadata: { metadata } }]);
  const nodes = new DescribedNodes().take({ members: new Map(described as []) } as never, "t");
  expect(nodes).toMatchObject([{ id: "a" }, { id: "b" }]);

  const joined = sent.map((metadata, index) => [
    `m${index}`,
    { memberId: `m${index}`, metadata: Buffer.from(metadata), generationId: 1 },
  ]);
  const topics = new Map([["t", { partitions: [{}, {}, {}, {}].map(() => ({ replicas: [1] })) }]]);
  const assigned = assignToMembers(new Map(joined as []), "t", { topics } as never);
  const counts = assigned.map(({ memberId, assignments }) => [
    memberId,
    assignments.get("t")!.partitions.length,
  ]);
  const nodeIds = new Set(["m0", `m${sent.length - 1}`]);
  expect(new Map(counts as [])).toEqual(
    new Map(sent.map((_, index) => [`m${index}`, nodeIds.has(`m${index}`) ? 2 : 0]) as []),
  );
});

test("members keep the partitions of the topic that they hold, unless they cannot run them", () => {
  const of = (id: string, partitions: number[] | undefined, more: object = {}) => [
    id,
    {
      memberId: id,
      generationId: 4,
      metadata: Buffer.from(introduction(id, more)),
      ...(partitions && {
        ownedPartitions: [
          { topic: "other", partitions: [0, 1] },
          { topic: "t", partitions },
        ],
      }),
    },
  ];
  const replicas = [[1], [2], [1], [2]].map((it) => ({ replicas: it }));
  const topics = new Map([["t", { partitions: replicas }]]);
  const assigned = (...members: unknown[][]) =>
    Object.fromEntries(
      assignToMembers(new Map(members as []), "t", { topics } as never).map((it) => {
        const { topic, partitions } = it.assignments.get("t")!;
        expect(topic).toBe("t");
        return [it.memberId, partitions];
      }),
    );
  expect(assigned(of("a", [3, 2]), of("b", [1, 0]))).toEqual({ a: [2, 3], b: [0, 1] });
  // New members get the partitions of one broker each.
  expect(assigned(of("a", undefined), of("b", undefined))).toEqual({ a: [0, 2], b: [1, 3] });
  const refused = [{ reason: "disk", partitions: [3] }];
  expect(
    assigned(of("a", [2, 3], { refused, canRun: [2] }), of("b", [0, 1], { canRun: [3] })),
  ).toEqual({ a: [2], b: [0, 1] });
  // A member that missed a rebalance holds nothing.
  const late = of("a", [0, 1, 2, 3]);
  Object.assign(late[1]!, { generationId: 3 });
  expect(assigned(late, of("b", [1]))).toMatchObject({ b: [1, 3] });
  expect(
    assignToMembers(new Map([of("a", []) as never]), "none", { topics } as never),
  ).toMatchObject([{ memberId: "a" }]);
});

test("a node is described with what it refused, and without partitions of other topics", () => {
  const refused = [{ reason: "disk", partitions: [3] }];
  const member = {
    metadata: { metadata: introduction("a", { refused }) },
    assignments: new Map([["other", { topic: "other", partitions: [1] }]]),
  };
  const group = { members: new Map([["m", member]]) } as unknown as Group;
  expect(new DescribedNodes().take(group, "t")).toEqual([
    { id: "a", version: "1", controlPlaneUrl: "", partitions: [], refused },
  ]);
  expect(new DescribedNodes().take(undefined, "t")).toEqual([]);
});
