import { expect, test } from "bun:test";
import type { Group } from "@platformatic/kafka";
import { DescribedNodes } from "../../src/cluster/membership/introduction.ts";

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
