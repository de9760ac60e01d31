import { expect, spyOn, test } from "bun:test";
import { evaluateRule } from "../../src/alerts/conditions.ts";
import type { AlertFacts } from "../../src/alerts/facts.ts";
import { isQuiet, isTimeZone } from "../../src/alerts/quiet-hours.ts";
import { Holds, RuleEvaluator } from "../../src/alerts/rule-evaluator.ts";
import type { Alerts } from "../../src/catalog/alerts/alerts.ts";
import type { AlertKind, AlertRule } from "../../src/catalog/alerts/model.ts";

const rule = (kind: AlertKind): AlertRule => ({
  ...{ id: "r", workspaceId: "w", createdAt: 0, updatedAt: 0 },
  ...{ name: "R", kind, enabled: true, forSeconds: 0, clearSeconds: 0 },
  ...{ subjectIds: [], receiverIds: [] },
});
const memory = { marks: new Map(), open: new Set<string>(), lastCounts: new Map() };

test.each([
  ["destination-down", { ok: false, failing: false, down: true }],
  ["destination-failing", { ok: false, failing: true, down: true }],
] as const)("%s holds for destinations in these states: %j", (kind, expected) => {
  const destinations = Object.keys(expected).map((state) => ({
    ...{ id: state, name: state, state, lagEvents: 0, lagSeconds: 0, deadLetters: 0 },
  }));
  const facts: AlertFacts = { isComplete: true, destinations, transformations: [], sources: [] };
  const { conditions } = evaluateRule(rule(kind), facts, memory);
  const holds = conditions.map(({ subject, holds }) => [subject.id, holds]);
  expect(Object.fromEntries(holds)).toEqual(expected);
});

const at = (time: string) => Date.parse(`2026-03-01T${time}:00Z`);

test.each([
  [{ from: "09:00", to: "17:00" }, ["09:00", "12:00", "16:59"], ["08:59", "17:00", "23:00"]],
  [{ from: "22:00", to: "07:00" }, ["22:00", "23:59", "00:00", "06:59"], ["07:00", "21:59"]],
  [{ from: "08:00", to: "08:00" }, [], ["07:59", "08:00", "20:00"]],
])("the quiet hours %j last from their begin to before their end", (hours, quiet, loud) => {
  const isQuietAt = (time: string) => isQuiet({ ...hours, timeZone: "UTC" }, at(time));
  expect([quiet.filter(isQuietAt), loud.filter(isQuietAt)]).toEqual([quiet, []]);
});

test("dead letters of workspaces that are evaluated no more are forgotten", () => {
  const alerts = {
    rules: { list: () => ({ items: [{ ...rule("dead-letters"), threshold: 1 }] }) },
    open: () => [{ id: "a", ruleId: "r", subject: { type: "destination", id: "d", name: "D" } }],
    marks: () => new Map(),
  } as unknown as Alerts;
  const evaluator = new RuleEvaluator(alerts, () => 0);
  const ended = (deadLetters: number) => {
    const destination = { id: "d", name: "D", state: "ok", lagEvents: 0, lagSeconds: 0 };
    const destinations = [{ ...destination, deadLetters }];
    const facts: AlertFacts = { isComplete: true, destinations, transformations: [], sources: [] };
    return evaluator.evaluate("w", facts).ended;
  };
  ended(5);
  evaluator.keepOnly(["w"]);
  expect(ended(7)).toEqual([]);
  evaluator.keepOnly(["other"]);
  expect(ended(9)).toEqual(["a"]);
});

test("a condition's duration is the time between checks that found it, without checks of unknown result", () => {
  let now = 0;
  const holds = new Holds(1_000, () => now);
  const check = (ms: number, found: boolean | undefined) => {
    now += ms;
    if (found !== false) return holds.hasHeld("rule/a", found, 1_500);
    holds.keepOnly(new Set());
    return false;
  };
  expect(check(0, true)).toBe(false);
  expect(check(800, true)).toBe(false);
  // The time up to an unknown check does not count.
  expect(check(600, undefined)).toBe(false);
  expect(check(600, true)).toBe(false);
  expect(check(100, true)).toBe(true);
  expect(check(1, false)).toBe(false);
  // A pause of the process counts as one step.
  expect(check(1, true)).toBe(false);
  expect(check(60_000, true)).toBe(false);
  expect(check(500, true)).toBe(true);
});

test("conditions are forgotten except those that are kept", () => {
  let now = 0;
  const holds = new Holds(10, () => now);
  const keys = ["one/a", "one/b", "two/a"];
  for (const key of keys) holds.hasHeld(key, true, 5);
  holds.keepOnly(new Set(["one/a", "two/a"]));
  now = 5;
  expect(keys.map((key) => holds.hasHeld(key, true, 5))).toEqual([true, false, true]);
});

test("a disk is that of a node, or of the server alone, and is full below the rule's percentage", () => {
  const disks = [
    { node: "", freeBytes: 9.9e9, sizeBytes: 100e9 },
    { node: "node-2", freeBytes: 10e9, sizeBytes: 100e9 },
    { node: "node-3", freeBytes: 0, sizeBytes: 0 },
  ];
  const facts = { destinations: [], server: { disks }, isComplete: true } as unknown as AlertFacts;
  const { conditions } = evaluateRule({ ...rule("disk"), threshold: 10 }, facts, memory);
  expect(conditions.map(({ subject, holds }) => [subject.id, subject.name, holds])).toEqual([
    ["server", "Server", true],
    ["node-2", "node-2", false],
    ["node-3", "node-3", false],
  ]);
});

test("the formatters of time zones are kept for a limited number of names", () => {
  const name = "america/argentina/buenos_aires";
  const letters = [...name].flatMap((letter, at) => (/[a-z]/.test(letter) ? at : []));
  /** The same time zone in another letter case for each number. */
  const variant = (number: number) =>
    letters.reduce((text, at, bit) => {
      const isUpper = ((number >> bit) & 1) === 1;
      return isUpper ? text.slice(0, at) + text[at]!.toUpperCase() + text.slice(at + 1) : text;
    }, name);
  const make = spyOn(Intl, "DateTimeFormat");
  try {
    for (let number = 0; number < 2_000; number++) expect(isTimeZone(variant(number))).toBe(true);
    const made = make.mock.calls.length;
    expect(isTimeZone(variant(1_999))).toBe(true);
    expect(make.mock.calls.length).toBe(made);
    expect(isTimeZone(variant(0))).toBe(true);
    expect(make.mock.calls.length).toBe(made + 1);
  } finally {
    make.mockRestore();
  }
});
