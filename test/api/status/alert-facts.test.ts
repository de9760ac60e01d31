import { expect, test } from "bun:test";
import { alertFacts, sourceFacts } from "../../../src/api/routes/alerts/alert-facts.ts";
import { scene } from "./_scene.ts";

type State = Parameters<typeof sourceFacts>[0];

/** A state of sources that each have a connection to a destination of the same number. */
function stateOf(count: number, onRead: () => void): State {
  const numbers = Array.from({ length: count }, (_, n) => String(n));
  const connection = (n: string) => ({
    sourceId: n,
    destinationId: n,
    get enabled() {
      onRead();
      return n !== "1";
    },
  });
  const states = ["ok", "ok", "blocked"];
  return {
    sources: numbers.map((id) => ({ id, name: id, enabled: true, receivedPerSecond: 0 })),
    connections: numbers.map(connection),
    destinations: numbers.map((id, n) => ({
      id,
      state: states[n] ?? "ok",
      lagSeconds: n === 3 ? 61 : 0,
    })),
  } as unknown as State;
}

test("a source is observed through an enabled connection to a destination that reads", () => {
  const facts = sourceFacts(stateOf(5, () => {}));
  expect(facts.map(({ isObserved }) => isObserved)).toEqual([true, false, false, false, true]);
});

test("each connection of a workspace is read once, however many sources there are", () => {
  let reads = 0;
  sourceFacts(stateOf(1_000, () => reads++));
  expect(reads).toBe(1_000);
});

const disk = { freeBytes: 1, sizeBytes: 2 };

/** A node of the workspaces `w` and `x`, of which the first one is the operator's. */
function nodeWith(others?: object) {
  const destinations = [
    { id: "d", name: "Own" },
    { id: "r", name: "Theirs", deliveredBy: "rudder-server" as const },
  ];
  const deps = scene({ destinations });
  const workspaces = { list: (most: number) => [{ id: "w" }, { id: "x" }].slice(0, most) };
  Object.assign(deps.catalog, { workspaces });
  const ready = () => ({ checks: { log: { ok: false, message: "full" } }, warnings: ["Old"] });
  return Object.assign(deps, { diskSpace: () => disk, ready, ...(others && { others }) });
}

test("facts of alerts are those of pixelmill's destinations, and of the server for the operator", async () => {
  const own = await alertFacts(nodeWith(), "w");
  expect(own.destinations.map(({ id }) => id)).toEqual(["d"]);
  expect(own.isComplete).toBe(true);
  expect(own.server).toEqual({
    ...{ troubles: ["log: full"], warnings: ["Old"], nodes: 1, missingNodes: [] },
    disks: [{ node: "", ...disk }],
  });
  expect(await alertFacts(nodeWith(), "x")).not.toHaveProperty("server");
});

test("facts of a cluster's alerts have the nodes that answer, while they can be asked", async () => {
  const told = { troubles: [], warnings: [], lanes: {}, connections: {}, suspensions: [] };
  let trouble: string | undefined;
  const others = {
    node: "a",
    // The disk of a node of an older version is unknown.
    ask: async () => ({ answers: new Map([["b", told]]), missing: ["c"] }),
    trouble: () => trouble,
  };
  const { isComplete, server } = await alertFacts(nodeWith(others), "w");
  expect(isComplete).toBe(false);
  expect(server).toMatchObject({ nodes: 2, missingNodes: ["c"], disks: [{ node: "a", ...disk }] });
  trouble = "Questions do not arrive";
  expect((await alertFacts(nodeWith(others), "w")).server).not.toHaveProperty("nodes");
});

test.each(["paused", "unconnected", "unknown", "blocked", "external"])(
  "a source is not observed through a destination that is %s",
  (state) => {
    const sources = [{ id: "s" }];
    const connections = [{ sourceId: "s", destinationId: "d", enabled: true }];
    const observed = (at: string, lagSeconds: number) => {
      const destinations = [{ id: "d", state: at, lagSeconds }];
      const [fact] = sourceFacts({ sources, connections, destinations } as unknown as State);
      return fact!.isObserved;
    };
    expect([observed(state, 0), observed("ok", 60), observed("failing", 61)]).toEqual([
      ...[false, true, false],
    ]);
  },
);
