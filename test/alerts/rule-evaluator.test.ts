import { expect, test } from "bun:test";
import type { AlertFacts } from "../../src/alerts/facts.ts";
import { isEmpty, RuleEvaluator } from "../../src/alerts/rule-evaluator.ts";
import type { Alerts } from "../../src/catalog/alerts/alerts.ts";
import type { Alert, AlertRule } from "../../src/catalog/alerts/model.ts";
import { ALERT_EVALUATION_MS } from "../../src/settings/limits.ts";

const STEP_SECONDS = ALERT_EVALUATION_MS / 1_000;
const down = { id: "a", name: "A", state: "down", lagEvents: 0, lagSeconds: 0, deadLetters: 0 };
const ok = { ...down, state: "ok" };

/** An evaluator of one rule, which holds its condition after two steps and clears it after three. */
function scene(changes: Partial<AlertRule> = {}) {
  const rule: AlertRule = {
    ...{ id: "r", workspaceId: "w", createdAt: 0, updatedAt: 0, name: "R", enabled: true },
    ...{ kind: "destination-down", forSeconds: 2 * STEP_SECONDS, clearSeconds: 3 * STEP_SECONDS },
    ...{ subjectIds: [], receiverIds: [] },
    ...changes,
  };
  const open: Alert[] = [];
  const alerts = {
    rules: {
      list: (id: string, page: number) => ({ items: id === "w" && page === 1 ? [rule] : [] }),
    },
    open: () => open,
    marks: () => new Map(),
  } as unknown as Alerts;
  let now = 0;
  const evaluator = new RuleEvaluator(alerts, () => now);
  return {
    evaluator,
    openAlert: (id: string, ruleId = "r") =>
      open.push({ id: `alert-${id}`, ruleId, subject: { type: "destination", id } } as Alert),
    /** Evaluates the rule one step later; returns the ids of items and alerts in the change. */
    evaluate(destinations: (typeof down)[], isComplete = true) {
      now += ALERT_EVALUATION_MS;
      const facts: AlertFacts = { isComplete, destinations, transformations: [], sources: [] };
      const change = evaluator.evaluate("w", facts);
      const { begun, ended } = change;
      expect(isEmpty(change)).toBe(begun.length + ended.length === 0);
      return [...begun.map(({ subject }) => subject.id), ...ended];
    },
  };
}

test("an alert begins once the condition has held for the seconds of the rule without a break", () => {
  const { evaluate } = scene();
  const found = [down, down, ok, down, down, down].map((it) => evaluate([it]));
  expect(found).toEqual([[], [], [], [], [], ["a"]]);
});

test("an alert ends once the condition has not held for the seconds of the rule", () => {
  const { evaluate, openAlert } = scene();
  openAlert("a");
  const found = [ok, ok, ok, down, ok, ok, ok, ok].map((it) => evaluate([it]));
  expect(found).toEqual([[], [], [], [], [], [], [], ["alert-a"]]);
});

test("an alert about another item or of another rule does not end with it", () => {
  const { evaluate, openAlert } = scene({ clearSeconds: 0 });
  openAlert("a");
  openAlert("b");
  const other = { ...down, id: "b" };
  expect(evaluate([ok, other])).toEqual(["alert-a"]);
});

test("a result that is not known neither begins nor ends an alert", () => {
  const starting = scene({ forSeconds: 0 });
  expect(starting.evaluate([ok], false)).toEqual([]);
  const ending = scene({ clearSeconds: 0 });
  ending.openAlert("a");
  expect(ending.evaluate([ok], false)).toEqual([]);
  expect(ending.evaluate([ok], true)).toEqual(["alert-a"]);
});

test("an alert ends when its item is gone, unless the node that knows the item may be silent", () => {
  const { evaluate, openAlert } = scene();
  openAlert("a");
  expect(evaluate([], false)).toEqual([]);
  expect(evaluate([])).toEqual(["alert-a"]);
});

test("an alert ends when its rule is disabled or removed", () => {
  const disabled = scene({ enabled: false });
  disabled.openAlert("a");
  expect(disabled.evaluate([down])).toEqual(["alert-a"]);
  const removed = scene();
  removed.openAlert("a", "gone");
  expect(removed.evaluate([down])).toEqual(["alert-a"]);
});

test("a rule about the server is evaluated with facts about the server", () => {
  const { evaluator } = scene({ kind: "server-not-ready", forSeconds: 0 });
  const server = { troubles: ["log: full"], warnings: [], missingNodes: [], disks: [] };
  const facts = { isComplete: true, destinations: [], transformations: [], sources: [], server };
  expect(evaluator.evaluate("w", facts).begun).toMatchObject([{ subject: { id: "server" } }]);
});

test("a change has the numbers that rules store about items", () => {
  const { evaluator } = scene({ kind: "source-silent" });
  const source = { id: "s", name: "S", enabled: true, receivedPerSecond: 1, isObserved: true };
  const facts = { isComplete: true, destinations: [], transformations: [], sources: [source] };
  const { marks } = evaluator.evaluate("w", facts);
  expect(marks).toEqual([{ ruleId: "r", subjectId: "s", value: 1 }]);
});

test("a change is empty if no alert begins or ends, and no number is stored", () => {
  const subject = { type: "source", id: "s", name: "S" } as const;
  const begun = [{ ruleId: "r", subject, message: "m" }];
  const marks = [{ ruleId: "r", subjectId: "s", value: 1 }];
  const none = { begun: [], ended: [], marks: [] };
  expect(isEmpty(none)).toBe(true);
  for (const change of [{ begun }, { ended: ["a"] }, { marks }, { begun, ended: ["a"], marks }]) {
    expect(isEmpty({ ...none, ...change })).toBe(false);
  }
  expect(isEmpty({ ...none, begun, marks })).toBe(false);
  expect(isEmpty({ begun, ended: ["a"], marks: [] })).toBe(false);
});
