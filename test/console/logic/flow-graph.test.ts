import { expect, test } from "bun:test";
import { type Overview, statesByUrgency } from "../../../src/console/data/model.ts";
import { buildFlowGraph } from "../../../src/console/overview/flow-graph.ts";

test("an edge of the graph counts each event of a source once, whatever its destinations", () => {
  const rates = { received: 16, delivered: 16, dropped: 0, failed: 0 };
  const destination = { type: "webhook", enabled: true, state: "ok", lagEvents: 0, lagSeconds: 0 };
  const more = { rates, rejecting: false, deadLetters: 0 };
  const ids = ["a", "b", "c", "d"];
  const { edges, transformations } = buildFlowGraph({
    sources: [{ id: "s", name: "Shop", enabled: true, receivedPerSecond: 16 }],
    transformations: [],
    destinations: ids.map((id) => ({ id, name: id, ...destination, ...more })) as never,
    connections: ids.map((id) => ({ id, sourceId: "s", destinationId: id, enabled: true, rates })),
    totals: { sources: 1, destinations: 4 } as never,
    problems: [],
  });
  expect(edges[0].map(({ rate }) => rate)).toEqual([16]);
  expect(transformations.map(({ rate }) => rate)).toEqual([16]);
  expect(edges[1].map(({ rate }) => rate)).toEqual([16, 16, 16, 16]);
});

test("a transformation counts the events of all its sources, and none without a source", () => {
  const rates = { received: 0, delivered: 0, dropped: 0, failed: 0 };
  const destination = { type: "webhook", enabled: true, state: "ok", rejecting: false, rates };
  const rateOf = (id: string, sourceId: string, received: number) => ({
    ...{ id, sourceId, destinationId: "d", enabled: true, rates: { ...rates, received } },
  });
  const graph = buildFlowGraph({
    sources: ["a", "b"].map((id, n) => ({ id, name: id, receivedPerSecond: n })),
    transformations: [],
    destinations: ["d", "e"].map((id) => ({
      ...{ id, name: id, ...destination, transformationId: id === "e" ? "t" : undefined },
    })),
    connections: [rateOf("1", "a", 3), rateOf("2", "b", 4)],
  } as never);
  expect(graph.transformations.map(({ rate }) => rate)).toEqual([7, 0]);
});

const still = { received: 0, delivered: 0, dropped: 0, failed: 0 };

function graphOf(overview: {
  sources?: object[];
  transformations?: object[];
  destinations?: object[];
  connections?: object[];
}) {
  const nothing = { sources: [], transformations: [], destinations: [], connections: [] };
  return buildFlowGraph({ ...nothing, ...overview } as unknown as Overview);
}

const namesOf = (nodes: readonly { name: string }[]) => nodes.map(({ name }) => name).join(" ");

test("the graph has the twelve sources with the most events, by name where these are equal", () => {
  const sources = [..."edcba"].map((name) => ({ id: name, name, receivedPerSecond: 2 }));
  const slower = Array.from({ length: 10 }, (_, n) => {
    return { id: `s${n}`, name: `s${n}`, receivedPerSecond: n / 10 };
  });
  const graph = graphOf({ sources: [...slower, ...sources] });
  expect(namesOf(graph.sources)).toBe("a b c d e s9 s8 s7 s6 s5 s4 s3");
});

test("the graph has the twelve most urgent destinations, then those with the most events, by name", () => {
  const destinationOf = (name: string, state: string, received: number) => {
    return { id: name, name, state, rejecting: false, rates: { ...still, received } };
  };
  const destinations = [
    destinationOf("b", "ok", 1),
    destinationOf("a", "ok", 1),
    destinationOf("fast", "ok", 2),
    ...statesByUrgency.toReversed().map((state) => destinationOf(state, state, 0)),
    destinationOf("down-fast", "down", 9),
  ];
  expect(namesOf(graphOf({ destinations }).destinations)).toBe(
    "down-fast down failing suspended blocked unknown waiting lagging fast a b ok",
  );
});

test("an edge to a destination is off or down by the destination's state", () => {
  const destinations = statesByUrgency.map((state) => {
    return { id: state, name: state, state, rejecting: false, rates: still };
  });
  const rejecting = { id: "r", name: "r", state: "ok", rejecting: true, rates: still };
  const graph = graphOf({ destinations: [...destinations, rejecting] });
  const edges = graph.edges[1].map((edge) => [graph.destinations[edge.to]!.id, edge] as const);
  const only = (which: "isOff" | "isDown") =>
    edges.filter(([, edge]) => edge[which]).map(([id]) => id);
  expect(only("isOff")).toEqual(["paused", "unconnected", "external"]);
  expect(only("isDown")).toEqual(["down", "suspended", "blocked", "r"]);
});

test("an edge from a source is off while all its connections are, and has the highest rate", () => {
  const destinations = ["d", "e"].map((id) => {
    return { id, name: id, state: "ok", rejecting: false, rates: still };
  });
  const edgesOf = (...given: [enabled: boolean, received: number][]) => {
    const connections = given.map(([enabled, received], n) => {
      return { sourceId: "s", destinationId: "de"[n], enabled, rates: { ...still, received } };
    });
    const sources = [{ id: "s", name: "s", receivedPerSecond: 0 }];
    return graphOf({ sources, destinations, connections }).edges[0];
  };
  expect(edgesOf([true, 0.5])).toMatchObject([{ isOff: false, rate: 0.5 }]);
  expect(edgesOf([false, 0])).toMatchObject([{ isOff: true, rate: 0 }]);
  expect(edgesOf([false, 1], [false, 2])).toMatchObject([{ isOff: true, rate: 2 }]);
  expect(edgesOf([true, 3], [false, 2])).toMatchObject([{ isOff: false, rate: 3 }]);
  expect(edgesOf([false, 0], [true, 3])).toMatchObject([{ isOff: false, rate: 3 }]);
});

test("an edge leads from the source and the transformation of its connection", () => {
  const destinations = ["none", "t", "u"].map((it) => {
    const transformationId = it === "none" ? undefined : it;
    return { id: it, name: it, state: "ok", rejecting: false, rates: still, transformationId };
  });
  const transformations = ["u", "t"].map((id) => ({ id, name: `name of ${id}` }));
  const sources = ["a", "b"].map((id) => ({ id, name: id, receivedPerSecond: 0 }));
  const connections = [
    { sourceId: "b", destinationId: "u", enabled: true, rates: { ...still, received: 3 } },
    { sourceId: "a", destinationId: "gone", enabled: true, rates: still },
    { sourceId: "gone", destinationId: "t", enabled: true, rates: still },
  ];
  const graph = graphOf({ sources, transformations, destinations, connections });
  expect(graph.transformations).toEqual([
    { id: "pass-through", transformation: undefined, rate: 0 },
    { id: "t", transformation: transformations[1] as never, rate: 0 },
    { id: "u", transformation: transformations[0] as never, rate: 3 },
  ]);
  const edge = { from: 1, to: 2, rate: 3, failed: 0, isOff: false, isDown: false };
  expect(graph.edges[0]).toEqual([edge]);
  expect(graph.edges[1].map(({ from, to }) => [from, to])).toEqual([
    [0, 0],
    [1, 1],
    [2, 2],
  ]);
});
