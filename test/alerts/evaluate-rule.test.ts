import { expect, test } from "bun:test";
import { duration, evaluateRule } from "../../src/alerts/conditions.ts";
import type { AlertFacts } from "../../src/alerts/facts.ts";
import type { AlertKind, AlertRule } from "../../src/catalog/alerts/model.ts";
import { ALERT_MESSAGE_CHARS_MAX } from "../../src/settings/limits.ts";

const rule = (kind: AlertKind): AlertRule => ({
  ...{ id: "r", workspaceId: "w", createdAt: 0, updatedAt: 0 },
  ...{ name: "R", kind, enabled: true, forSeconds: 0, clearSeconds: 0 },
  ...{ subjectIds: [], receiverIds: [] },
});
const memory = { marks: new Map(), open: new Set<string>(), lastCounts: new Map() };

const nothing: AlertFacts = {
  isComplete: true,
  destinations: [],
  transformations: [],
  sources: [],
};
const item = { id: "a", name: "A" };
const sink = { ...item, state: "ok", lagEvents: 0, lagSeconds: 0, deadLetters: 0 };
const server = { troubles: [], warnings: [], missingNodes: [], disks: [] };

const cases: [AlertKind, Partial<AlertFacts>, holds: boolean | undefined, message: string][] = [
  [
    "destination-down",
    { destinations: [{ ...sink, state: "down" }] },
    true,
    "A is down: no reason is known",
  ],
  [
    "destination-failing",
    { destinations: [{ ...sink, state: "failing", reason: "No route" }] },
    true,
    "A is failing: No route",
  ],
  [
    "lag",
    { destinations: [{ ...sink, lagSeconds: 5, lagEvents: 1 }] },
    true,
    "A lags 5 s behind: 1 event not delivered",
  ],
  [
    "lag",
    { destinations: [{ ...sink, lagSeconds: 4.9, lagEvents: 2 }] },
    false,
    "A lags 5 s behind: 2 events not delivered",
  ],
  [
    "code-suspended",
    { transformations: [{ ...item, suspended: { reason: "Oh" } }] },
    true,
    "A is suspended, because it only fails: Oh",
  ],
  ["code-suspended", { transformations: [item] }, false, "A is suspended, because it only fails: "],
  [
    "server-not-ready",
    { server: { ...server, troubles: ["log: full", "x: y"] } },
    true,
    "The server is not ready: log: full; x: y",
  ],
  ["server-not-ready", { server }, false, "The server is not ready: "],
  [
    "server-warning",
    { server: { ...server, warnings: ["Old"] } },
    true,
    "The server has warnings: Old",
  ],
  [
    "nodes-missing",
    { server: { ...server, nodes: 4, missingNodes: ["b", "c"] } },
    true,
    "4 of 5 nodes answer; b, c do not answer",
  ],
  ["nodes-missing", { server: { ...server, nodes: 5 } }, false, "5 of 5 nodes answer"],
  ["nodes-missing", { server }, undefined, "0 of 5 nodes answer"],
  [
    "disk",
    { server: { ...server, disks: [{ node: "", freeBytes: 1.26e9, sizeBytes: 100e9 }] } },
    true,
    "The disk of the server has 1.3 GB (1 %) left",
  ],
  [
    "disk",
    { server: { ...server, disks: [{ node: "b", freeBytes: 5e9, sizeBytes: 100e9 }] } },
    false,
    "The disk of b has 5.0 GB (5 %) left",
  ],
];
test.each(cases)("the condition of a rule %s with %j: %j, %s", (kind, facts, holds, message) => {
  const evaluate = (facts: AlertFacts) =>
    evaluateRule({ ...rule(kind), threshold: 5 }, facts, memory).conditions;
  const known = { ...nothing, ...facts };
  expect(evaluate(known)).toMatchObject([{ holds, message }]);
  // A node that does not answer may know a problem, but no answer takes a problem away.
  const isOfOneNode = ["nodes-missing", "disk"].includes(kind);
  const partial = evaluate({ ...known, isComplete: false });
  expect(partial[0]!.holds).toBe(isOfOneNode || holds ? holds : undefined);
  // Workspaces other than the operator's have no facts about the server.
  expect(evaluate(nothing)).toEqual([]);
});

test("a rule for some items leaves out the others", () => {
  const of = (kind: AlertKind, id: string) =>
    evaluateRule(
      { ...rule(kind), subjectIds: ["a"] },
      {
        ...{ ...nothing, destinations: [{ ...sink, id }], transformations: [{ ...item, id }] },
        sources: [{ ...item, id, enabled: true, receivedPerSecond: 0, isObserved: true }],
      },
      { ...memory, marks: new Map([[id, 1]]) },
    ).conditions.length;
  const kinds = ["destination-down", "lag", "dead-letters", "code-suspended", "source-silent"];
  for (const kind of kinds as AlertKind[]) {
    expect([kind, of(kind, "a"), of(kind, "b")]).toEqual([kind, 1, 0]);
  }
});

test.each([
  // Dead letters, the number that the rule has stored, and the number at the last evaluation.
  ["as many new dead letters as the threshold", { now: 7, mark: 5 }, { holds: true }],
  ["fewer new dead letters", { now: 6, mark: 5 }, { holds: false }],
  ["dead letters of which none was stored", { now: 2 }, { holds: true }],
  ["fewer dead letters than were stored", { now: 4, mark: 5 }, { holds: false, stored: 4 }],
  ["no dead letters any more", { now: 0, mark: 5 }, { holds: false, stored: null }],
  ["an alert, and more", { now: 9, mark: 8, last: 8, open: true }, { holds: true, stored: 9 }],
  ["an alert, and no more", { now: 9, mark: 9, last: 9, open: true }, { holds: false }],
  ["an alert from before a restart", { now: 9, mark: 9, open: true }, { holds: false }],
] as [string, { now: number; mark?: number; last?: number; open?: true }, object][])(
  "a destination with %s",
  (_, { now, mark, last, open }, expected) => {
    const { conditions, marks } = evaluateRule(
      { ...rule("dead-letters"), threshold: 2 },
      { ...nothing, destinations: [{ ...sink, deadLetters: now }] },
      {
        marks: new Map(mark === undefined ? [] : [["a", mark]]),
        open: new Set(open ? ["a"] : []),
        lastCounts: new Map(last === undefined ? [] : [["a", last]]),
      },
    );
    const stored = marks.map(({ value = null }) => ({ stored: value }))[0];
    expect({ holds: conditions[0]!.holds, ...stored }).toEqual(expected as never);
  },
);

test("an alert about dead letters says how many are new, and how many there are", () => {
  const messageOf = (deadLetters: number, open: string[]) =>
    evaluateRule(
      { ...rule("dead-letters"), threshold: 1 },
      { ...nothing, destinations: [{ ...sink, deadLetters }] },
      { ...memory, marks: new Map([["a", 2]]), open: new Set(open) },
    ).conditions[0]!.message;
  expect(messageOf(3, [])).toBe("A has 1 new dead letter, 3 in all");
  expect(messageOf(4, [])).toBe("A has 2 new dead letters, 4 in all");
  expect(messageOf(4, ["a"])).toBe("A has 4 in all");
});

test("a source is silent once it has sent events and a destination reads none", () => {
  const source = { ...item, enabled: true, receivedPerSecond: 0, isObserved: true };
  const evaluate = (fields: object, marks: [string, number][], isComplete = true) => {
    const facts = { ...nothing, isComplete, sources: [{ ...source, ...fields }] };
    const sourceRule = { ...rule("source-silent"), forSeconds: 120 };
    const found = evaluateRule(sourceRule, facts, { ...memory, marks: new Map(marks) });
    return [found.conditions.map(({ holds }) => holds), found.marks] as unknown[];
  };
  const ruleId = "r";
  const heard: [string, number][] = [["a", 1]];
  expect(evaluate({}, [])).toEqual([[], []]);
  expect(evaluate({ receivedPerSecond: 1 }, [])).toEqual([
    [],
    [{ ruleId, subjectId: "a", value: 1 }],
  ]);
  expect(evaluate({}, heard)).toEqual([[true], []]);
  expect(evaluate({ receivedPerSecond: 1 }, heard)).toEqual([[false], []]);
  expect(evaluate({ isObserved: false }, heard)).toEqual([[undefined], []]);
  expect(evaluate({}, heard, false)).toEqual([[undefined], []]);
  expect(evaluate({ enabled: false }, heard)).toEqual([[], []]);
  // A source that was deleted is forgotten.
  expect(evaluate({ id: "b" }, heard)).toEqual([[], [{ ruleId, subjectId: "a" }]]);
});

test("an alert about the server is about its name, its nodes or one disk", () => {
  const disks = [
    { node: "", freeBytes: 100e9, sizeBytes: 100e9 },
    { node: "b", freeBytes: 0, sizeBytes: 0 },
  ];
  const subjectsOf = (kind: AlertKind) =>
    evaluateRule(rule(kind), { ...nothing, server: { ...server, disks } }, memory).conditions.map(
      ({ subject, message }) => ({ ...subject, message }),
    );
  const whole = { type: "server", id: "server" };
  expect(subjectsOf("server-warning")).toMatchObject([{ ...whole, name: "Server" }]);
  expect(subjectsOf("nodes-missing")).toMatchObject([{ ...whole, name: "Cluster" }]);
  expect(subjectsOf("disk")).toEqual([
    {
      ...{ type: "node", id: "server", name: "Server" },
      message: "The disk of the server has 100.0 GB (100 %) left",
    },
    { type: "node", id: "b", name: "b", message: "The disk of b has 0.0 GB (100 %) left" },
  ]);
});

test("a long message of an alert is cut off", () => {
  const troubles = ["x".repeat(ALERT_MESSAGE_CHARS_MAX)];
  const facts = { ...nothing, server: { ...server, troubles } };
  const [{ message = "" } = {}] = evaluateRule(rule("server-not-ready"), facts, memory).conditions;
  expect([message.length, message.endsWith("x…")]).toEqual([ALERT_MESSAGE_CHARS_MAX, true]);
});

test.each([
  [0, "0 s"],
  [119, "119 s"],
  [120, "2 min"],
  [7_199, "120 min"],
  [7_200, "2 h"],
  [90_000, "25 h"],
])("%d seconds are shown as %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});
