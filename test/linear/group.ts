import type { CodeKind } from "../../src/catalog/model.ts";
import { Model, type Refused } from "../catalog/model.ts";
import type { Call, Rules } from "./checker.ts";
import { cleared, listed, read, removed, turned, written } from "./code-calls.ts";
import { managed } from "./management-calls.ts";

/**
 * Call on a group: an independent part of a workspace, with transformations, libraries of one
 * import name, sources, destinations, and their connections and links. Clients choose the names:
 * `12` is the item or the version that call 12 created.
 */
export type Request = CodeRequest | ManagementRequest;

export type CodeRequest =
  | Written
  | { verb: "publish"; items: readonly { kind: CodeKind; thing: string; version: string }[] }
  | { verb: "link" | "unlink"; thing: string; destination: string }
  | { verb: "link at"; thing: string; destination: string }
  | { verb: "clear"; destination: string }
  | { verb: "delete"; kind: CodeKind; thing: string }
  | { verb: "read"; kind: CodeKind; thing: string; what: "published" | "newest" | "versions" }
  | { verb: "list"; kind: CodeKind; what: "published" | "drafts" };

export interface Written {
  verb: "create" | "revise";
  kind: CodeKind;
  thing: string;
  version: string;
  publishes: boolean;
  /** New code of a transformation; absent if the call does not change it. */
  code?: { imports: boolean };
  describes: boolean;
  links: readonly string[];
}

export type Plain = "source" | "destination";
export type ManagementRequest =
  | { verb: "make" | "rename"; of: Plain; thing: string; name: string }
  | { verb: "drop" | "get"; of: Plain | "connection"; thing: string }
  | { verb: "all"; of: Plain | "connection" }
  | { verb: "connect"; thing: string; source: string; destination: string };

export interface Answer {
  /** Outcome; `untried` if the server rejected the call because of concurrent calls. */
  outcome: "done" | "untried" | NonNullable<Refused>;
  /** Sorted texts that describe what a read returned, or what a call wrote. */
  seen?: readonly string[];
}

/** State of a group between two calls. */
export interface Group {
  code: Model;
  /** Versions that were ever published: they can be published again without their libraries. */
  past: ReadonlySet<string>;
  /** Name of each source. */
  sources: ReadonlyMap<string, string>;
  destinations: ReadonlyMap<string, string>;
  connections: ReadonlyMap<string, { source: string; destination: string }>;
}

export interface Outcome {
  /** Correct rejections of the call, of which any may be the answer; empty if it succeeds. */
  refusals: Answer["outcome"][];
  seen?: string[];
  /** State after the call; absent if nothing changes. */
  next?: Group;
}

export const groupRules: Rules<Group, Request, Answer> = {
  begin: () => ({
    ...{ code: new Model([]), past: new Set(), sources: new Map(), destinations: new Map() },
    connections: new Map(),
  }),
  step(state, request, answer) {
    if (answer?.outcome === "untried") return state;
    const { refusals, seen, next = state } = outcomeOf(state, request);
    if (refusals.length > 0) {
      return answer === undefined || refusals.includes(answer.outcome) ? state : undefined;
    }
    if (answer === undefined) return next;
    const isShown = answer.seen === undefined || Bun.deepEquals(answer.seen, seen);
    const isRight = answer.outcome === "done" && isShown;
    return isRight ? next : undefined;
  },
  isRead: (request, { outcome }) => isRead(request) || outcome !== "done",
  key: ({ code, past, sources, destinations, connections }) =>
    JSON.stringify([
      code.things.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
      [...code.links].map(([destination, thing]) => `${destination} ${thing.id}`).sort(),
      [...past].sort(),
      ...[sources, destinations, connections].map((it) => [...it].sort()),
    ]),
};

/**
 * Adds evidence to the calls: every call creates a unique name. Once any answer shows the name, the
 * call has taken effect, even if its own answer came later or never.
 */
export function withEvidence<C extends Call<Request, Answer>>(calls: readonly C[]): C[] {
  const seenAt = new Map<string, number>();
  for (const { answer, answeredAt } of calls) {
    for (const name of answer?.seen?.flatMap((text) => text.match(/\d+/g) ?? []) ?? []) {
      seenAt.set(name, Math.min(answeredAt, seenAt.get(name) ?? answeredAt));
    }
  }
  return calls.map((call) => {
    const at = seenAt.get(madeBy(call.request) ?? "");
    if (at === undefined || at >= call.answeredAt) return call;
    const answer: Answer = call.answer ?? { outcome: "done" };
    return { ...call, answeredAt: at, answer };
  });
}

function madeBy(request: Request): string | undefined {
  if ("version" in request) return request.version;
  if ("name" in request) return request.name;
  return request.verb === "connect" ? request.thing : undefined;
}

const reads: readonly Request["verb"][] = ["read", "list", "get", "all"];
export const isRead = ({ verb }: Request) => reads.includes(verb);

function outcomeOf(state: Group, request: Request): Outcome {
  switch (request.verb) {
    case "create":
    case "revise":
    case "publish":
      return written(state, request);
    case "link":
    case "link at":
    case "unlink":
      return turned(state, request);
    case "clear":
      return cleared(state, request.destination);
    case "delete":
      return removed(state, request.thing);
    case "read":
      return read(state, request);
    case "list":
      return { refusals: [], seen: listed(state, request) };
    default:
      return managed(state, request);
  }
}
