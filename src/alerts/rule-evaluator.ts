import type { Alerts } from "../catalog/alerts/alerts.ts";
import { type AlertChange, isServerAlertKind } from "../catalog/alerts/model.ts";
import { ALERT_EVALUATION_MS } from "../settings/limits.ts";
import { evaluateRule } from "./conditions.ts";
import type { AlertFacts } from "./facts.ts";

/**
 * Measures how long each condition has held, by the condition's key. The time between two checks
 * counts as at most `stepMsMax` milliseconds, because this process may have been paused.
 */
export class Holds {
  readonly #held = new Map<string, { ms: number; at: number }>();

  constructor(
    private readonly stepMsMax: number,
    private readonly elapsed: () => number,
  ) {}

  /**
   * Records a check of a condition, and returns whether the condition has held for `ms`
   * milliseconds. If `holds` is undefined (unknown), adds no time and returns false. For a
   * condition that does not hold, use `keepOnly`.
   */
  hasHeld(key: string, holds: true | undefined, ms: number): boolean {
    const at = this.elapsed();
    const before = this.#held.get(key);
    if (holds === undefined) {
      if (before !== undefined) before.at = at;
      return false;
    }
    const step = before === undefined ? 0 : Math.min(at - before.at, this.stepMsMax);
    const held = { ms: (before?.ms ?? 0) + step, at };
    this.#held.set(key, held);
    return held.ms >= ms;
  }

  /** Deletes the measured time of each condition whose key is not in `keys`. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#held.keys()) if (!keys.has(key)) this.#held.delete(key);
  }
}

/**
 * Maximum milliseconds that the interval between two evaluations adds to the time for which a
 * condition has held.
 */
const STEP_MS_MAX = 2 * ALERT_EVALUATION_MS;

/**
 * Evaluates the rules of workspaces. How long each condition has held is kept only in memory: a new
 * evaluator begins at 0.
 */
export class RuleEvaluator {
  /** How long each condition of a workspace has held, by workspace id. */
  readonly #holds = new Map<string, Holds>();
  /**
   * Number of dead letters of each destination at the last evaluation, by workspace id and then by
   * destination id.
   */
  readonly #counts = new Map<string, ReadonlyMap<string, number>>();

  constructor(
    private readonly alerts: Alerts,
    private readonly elapsed: () => number,
  ) {}

  /**
   * Evaluates a workspace's rules. Returns the alerts that begin or end, and the marks (values that
   * rules store about items) to change.
   */
  evaluate(workspaceId: string, facts: AlertFacts): AlertChange {
    const rules = this.alerts.rules.list(workspaceId, 1).items.filter(({ enabled }) => enabled);
    const open = Map.groupBy(this.alerts.open(workspaceId), ({ ruleId }) => ruleId);
    const change: AlertChange = { begun: [], ended: [], marks: [] };
    const seen = new Set<string>();
    const durations = this.#holds.getOrInsertComputed(
      workspaceId,
      () => new Holds(STEP_MS_MAX, this.elapsed),
    );
    for (const rule of rules) {
      if (isServerAlertKind(rule.kind) && facts.server === undefined) continue;
      const openBySubject = new Map(open.get(rule.id)?.map((it) => [it.subject.id, it] as const));
      open.delete(rule.id);
      const { conditions, marks } = evaluateRule(rule, facts, {
        marks: this.alerts.marks(workspaceId, rule.id),
        open: new Set(openBySubject.keys()),
        lastCounts: this.#counts.get(workspaceId) ?? new Map(),
      });
      change.marks.push(...marks);
      for (const { subject, holds, message } of conditions) {
        const alert = openBySubject.get(subject.id);
        openBySubject.delete(subject.id);
        // An open alert ends once the condition has not held for a time.
        const wanted = alert === undefined || holds === undefined ? holds : !holds;
        // Most conditions do not hold, and cost nothing. `keepOnly` forgets that they held.
        if (wanted === false) continue;
        const phase = alert === undefined ? "begin" : "end";
        const key = `${rule.id} ${phase} ${subject.id}`;
        seen.add(key);
        const seconds = alert === undefined ? rule.forSeconds : rule.clearSeconds;
        if (!durations.hasHeld(key, wanted, seconds * 1_000)) continue;
        if (alert !== undefined) change.ended.push(alert.id);
        else change.begun.push({ ruleId: rule.id, subject, message });
      }
      // Complete facts that do not name an item of an alert show that the item was removed.
      if (facts.isComplete) for (const { id } of openBySubject.values()) change.ended.push(id);
    }
    // The rules of the alerts that remain in `open` were not evaluated: they are disabled, removed,
    // or need facts of a server that gives none.
    for (const alert of [...open.values()].flat()) change.ended.push(alert.id);
    durations.keepOnly(seen);
    const counts = facts.destinations.map(({ id, deadLetters }) => [id, deadLetters] as const);
    this.#counts.set(workspaceId, new Map(counts));
    return change;
  }

  /**
   * Deletes what is remembered about workspaces that are not in `workspaceIds`: how long their
   * conditions have held, and their numbers of dead letters.
   */
  keepOnly(workspaceIds: readonly string[]): void {
    const kept = new Set(workspaceIds);
    for (const map of [this.#holds, this.#counts]) {
      for (const id of map.keys()) if (!kept.has(id)) map.delete(id);
    }
  }
}

/** Whether no alert begins or ends, and no value that a rule stores about an item changes. */
export function isEmpty({ begun, ended, marks }: AlertChange): boolean {
  return begun.length + ended.length + marks.length === 0;
}
