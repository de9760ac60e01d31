import type { AlertMark, AlertRule, AlertSubject } from "../catalog/alerts/model.ts";
import { cutText } from "../errors.ts";
import { ALERT_MESSAGE_CHARS_MAX } from "../settings/limits.ts";
import type { AlertFacts, DestinationFacts, DiskFacts, SourceFacts } from "./facts.ts";

/** Result of evaluating a rule for one item (`subject`), such as a destination. */
interface Condition {
  subject: AlertSubject;
  /**
   * Whether the rule's condition holds for the item. Undefined if the facts are not enough to know.
   */
  holds: boolean | undefined;
  /** Text of the alert that begins if the condition has held long enough. */
  message: string;
}

/** Results of earlier evaluations of a rule. The next evaluation compares the facts with them. */
interface RuleMemory {
  /**
   * Numbers that the rule has stored, by item id. For a destination, the number of dead letters
   * that do not count as new. For a source, 1 once the source has sent events.
   */
  marks: ReadonlyMap<string, number>;
  /** Ids of the items for which the rule has an open alert. */
  open: ReadonlySet<string>;
  /** Number of dead letters of each destination at the last evaluation, by destination id. */
  lastCounts: ReadonlyMap<string, number>;
}

interface Evaluation {
  conditions: Condition[];
  marks: AlertMark[];
}

/**
 * Evaluates a rule. In the result, `conditions` says for each evaluated item, such as a
 * destination, whether the rule's condition holds. The result's `marks` has the changes to
 * `memory.marks` that the caller must store.
 */
export function evaluateRule(rule: AlertRule, facts: AlertFacts, memory: RuleMemory): Evaluation {
  const isMeant = ({ id }: { id: string }) =>
    rule.subjectIds.length === 0 || rule.subjectIds.includes(id);
  const destinations = facts.destinations.filter(isMeant);
  // A reported problem is certain. The absence of a problem is certain only once all nodes have
  // answered.
  const certain = (holds: boolean) => holds || (facts.isComplete ? false : undefined);
  const ofDestinations = (
    holds: (it: DestinationFacts) => boolean,
    message: (it: DestinationFacts) => string,
  ) => only(destinations.map((it) => ofDestination(it, certain(holds(it)), message(it))));
  const { threshold = 0 } = rule;
  switch (rule.kind) {
    case "destination-down":
    case "destination-failing": {
      const states = rule.kind === "destination-down" ? ["down"] : ["down", "failing"];
      return ofDestinations(
        ({ state }) => states.includes(state),
        ({ state, reason }) => `is ${state}: ${reason ?? "no reason is known"}`,
      );
    }
    case "lag":
      return ofDestinations(
        ({ lagSeconds }) => lagSeconds >= threshold,
        ({ lagSeconds, lagEvents }) =>
          `lags ${duration(lagSeconds)} behind: ${counted(lagEvents, "event")} not delivered`,
      );
    case "dead-letters":
      return evaluateDeadLetters({ ruleId: rule.id, threshold }, destinations, memory);
    case "code-suspended":
      return only(
        facts.transformations.filter(isMeant).map(({ id, name, suspended }) => ({
          subject: { type: "transformation", id, name },
          holds: certain(suspended !== undefined),
          message: text(`${name} is suspended, because it only fails: ${suspended?.reason ?? ""}`),
        })),
      );
    case "source-silent":
      return evaluateSources(rule, facts.sources.filter(isMeant), facts.isComplete, memory);
    case "server-not-ready":
      return ofServer("is not ready", facts.server?.troubles, certain);
    case "server-warning":
      return ofServer("has warnings", facts.server?.warnings, certain);
    case "nodes-missing":
      return evaluateNodes(threshold, facts);
    case "disk":
      return only((facts.server?.disks ?? []).map((disk) => ofDisk(disk, threshold)));
  }
}

const only = (conditions: Condition[]): Evaluation => ({ conditions, marks: [] });

function ofDestination(
  { id, name }: DestinationFacts,
  holds: boolean | undefined,
  message: string,
): Condition {
  return { subject: { type: "destination", id, name }, holds, message: text(`${name} ${message}`) };
}

/**
 * Evaluates a rule about new dead letters: those beyond a stored number per destination, the mark.
 * - Without an open alert, the condition holds if at least `threshold` dead letters are new.
 * - With an open alert, the condition holds if dead letters were added since the last evaluation.
 *   The mark is set to the present number.
 */
function evaluateDeadLetters(
  { ruleId, threshold }: { ruleId: string; threshold: number },
  destinations: readonly DestinationFacts[],
  { marks, open, lastCounts }: RuleMemory,
): Evaluation {
  const changed: AlertMark[] = [];
  const conditions = destinations.map((destination) => {
    const { id, deadLetters: count } = destination;
    const mark = marks.get(id) ?? 0;
    const last = lastCounts.get(id) ?? count;
    const isOpen = open.has(id);
    // Replays and purges remove dead letters. Later ones are counted from the lower number.
    if (isOpen ? count !== mark : count < mark) {
      changed.push({ ruleId, subjectId: id, ...(count > 0 && { value: count }) });
    }
    const growth = count - mark;
    const more = isOpen ? "" : `${counted(growth, "new dead letter")}, `;
    const message = `has ${more}${count} in all`;
    return ofDestination(destination, isOpen ? count > last : growth >= threshold, message);
  });
  const known = new Set(destinations.map(({ id }) => id));
  const gone = [...marks.keys()].filter((id) => !known.has(id));
  return { conditions, marks: [...changed, ...gone.map((subjectId) => ({ ruleId, subjectId }))] };
}

/**
 * Evaluates a rule about sources that send no events. A source is evaluated only after it has sent
 * its first event.
 */
function evaluateSources(
  { id: ruleId, forSeconds }: AlertRule,
  sources: readonly SourceFacts[],
  isComplete: boolean,
  { marks }: RuleMemory,
): Evaluation {
  const heard = sources.filter((it) => it.receivedPerSecond > 0 && !marks.has(it.id));
  const evaluated = sources.filter(({ id, enabled }) => enabled && marks.has(id));
  const known = new Set(sources.map(({ id }) => id));
  const gone = [...marks.keys()].filter((id) => !known.has(id));
  return {
    conditions: evaluated.map(({ id, name, receivedPerSecond, isObserved }) => ({
      subject: { type: "source", id, name },
      holds: receivedPerSecond > 0 ? false : isComplete && isObserved ? true : undefined,
      message: text(`${name} has sent no events for ${duration(forSeconds)}`),
    })),
    marks: [
      ...heard.map(({ id: subjectId }) => ({ ruleId, subjectId, value: 1 })),
      ...gone.map((subjectId) => ({ ruleId, subjectId })),
    ],
  };
}

function ofServer(
  state: string,
  messages: readonly string[] | undefined,
  certain: (holds: boolean) => boolean | undefined,
): Evaluation {
  if (messages === undefined) return only([]);
  const message = text(`The server ${state}: ${messages.join("; ")}`);
  const subject = { type: "server", id: "server", name: "Server" } as const;
  return only([{ subject, holds: certain(messages.length > 0), message }]);
}

function evaluateNodes(expected: number, { server }: AlertFacts): Evaluation {
  if (server === undefined) return only([]);
  const { nodes, missingNodes } = server;
  const missing = missingNodes.length > 0 ? `; ${missingNodes.join(", ")} do not answer` : "";
  return only([
    {
      subject: { type: "server", id: "server", name: "Cluster" },
      holds: nodes === undefined ? undefined : nodes < expected,
      message: text(`${nodes ?? 0} of ${expected} nodes answer${missing}`),
    },
  ]);
}

function ofDisk({ node, freeBytes, sizeBytes }: DiskFacts, percentMin: number): Condition {
  const percent = sizeBytes > 0 ? (100 * freeBytes) / sizeBytes : 100;
  const name = node === "" ? "Server" : node;
  const free = `${(freeBytes / 1e9).toFixed(1)} GB`;
  return {
    subject: { type: "node", id: node === "" ? "server" : node, name },
    holds: percent < percentMin,
    message: text(
      `The disk of ${node === "" ? "the server" : node} has ${free} (${Math.floor(percent)} %) left`,
    ),
  };
}

const text = (message: string) => cutText(message, ALERT_MESSAGE_CHARS_MAX, "…");

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Returns a duration as text, such as `90 s`, `15 min` or `3 h`. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}
