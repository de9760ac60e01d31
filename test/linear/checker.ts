/** Call of a client. Times are milliseconds of one clock. */
export interface Call<Request, Answer> {
  request: Request;
  calledAt: number;
  /**
   * Infinity without a response: the call may take effect at any time after its start, or never.
   */
  answeredAt: number;
  answer?: Answer;
}

/** Sequential specification: the effect of calls that run one after another. */
export interface Rules<State, Request, Answer> {
  begin(): State;
  /**
   * Returns the state after the call, or undefined if the state does not allow the answer. Without
   * an answer, any is allowed. States are immutable; a call without effect may return its argument.
   */
  step(state: State, request: Request, answer: Answer | undefined): State | undefined;
  /** Whether a call with this answer changes no state. */
  isRead(request: Request, answer: Answer): boolean;
  /** Key of a state; equal states have equal keys. */
  key(state: State): string;
}

/** Limit of the search: pairs of a set of calls and a state that a check may visit. */
const LOOKS_MAX = 500_000;

/** Error of a check that has reached `LOOKS_MAX`. */
export class Undecided extends Error {}

/** Node of the search: a prefix of an order of the calls. */
interface SearchNode<State> {
  state: State;
  /** Calls in the prefix, one bit each. */
  done: bigint;
  /** Candidates for the next call that are not tried yet. */
  next: number[];
  /** Whether the prefix contains all answered calls. */
  isEnd: boolean;
  /** Last call of the prefix if it is unanswered, with the state before it. */
  unknown?: { index: number; before: State };
}

/**
 * Whether the calls are linearizable: some order of them explains all answers, and places each call
 * between its start and its answer. Uses the search of Wing and Gong with Lowe's cache of visited
 * configurations, like Porcupine. A read that fits at its first candidate position is not tried at
 * later ones. An unanswered call is placed only where the next call's result depends on it.
 */
export function isLinear<State, Request, Answer>(
  rules: Rules<State, Request, Answer>,
  calls: readonly Call<Request, Answer>[],
): boolean {
  const inOrder = calls.toSorted((one, other) => one.calledAt - other.calledAt);
  const tried = new Set<string>();
  const stack: SearchNode<State>[] = [
    { state: rules.begin(), done: 0n, ...candidates(inOrder, 0n) },
  ];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (top.isEnd) return true;
    const index = top.next.shift();
    if (index === undefined) {
      stack.pop();
      continue;
    }
    const { request, answer } = inOrder[index]!;
    const state = rules.step(top.state, request, answer);
    if (state === undefined || (answer === undefined && state === top.state)) continue;
    // A read changes no state: if it fits here, no order with the read at a later position is
    // needed.
    if (answer !== undefined && rules.isRead(request, answer)) top.next = [];
    const key = rules.key(state);
    if (top.unknown !== undefined && isSpared(rules, inOrder, top.unknown, index, key)) {
      continue;
    }
    const done = top.done | (1n << BigInt(index));
    const unknown = answer === undefined && { unknown: { index, before: top.state } };
    const configuration = `${done.toString(36)} ${unknown ? index : ""} ${Bun.hash(key).toString(36)}`;
    if (tried.has(configuration)) continue;
    if (tried.size === LOOKS_MAX) throw new Undecided(`Gave up after ${LOOKS_MAX} looks`);
    tried.add(configuration);
    stack.push({ state, done, ...candidates(inOrder, done), ...unknown });
  }
  return false;
}

/**
 * Whether the search may skip a call after an unanswered one: the call has the same result without
 * it, or the two commute and the search tries the other order.
 */
function isSpared<State, Request, Answer>(
  rules: Rules<State, Request, Answer>,
  inOrder: readonly Call<Request, Answer>[],
  { index: unknown, before }: { index: number; before: State },
  index: number,
  key: string,
): boolean {
  const { request, answer } = inOrder[index]!;
  const first = rules.step(before, request, answer);
  if (first !== undefined && rules.key(first) === key) return true;
  if (answer === undefined && index > unknown) return false;
  const then = first && rules.step(first, inOrder[unknown]!.request, undefined);
  return then !== undefined && rules.key(then) === key;
}

/**
 * Candidates for the next call: calls that began before any remaining call was answered. Answered
 * calls are tried first; the search ends when all answered calls are in the order.
 */
function candidates(inOrder: readonly Call<unknown, unknown>[], done: bigint) {
  const next: number[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const [index, { calledAt, answeredAt }] of inOrder.entries()) {
    if ((done >> BigInt(index)) & 1n) continue;
    if (calledAt > least) break;
    least = Math.min(least, answeredAt);
    next.push(index);
  }
  const last = (index: number) => Math.min(inOrder[index]!.answeredAt, Number.MAX_VALUE);
  next.sort((one, other) => last(one) - last(other));
  return { next, isEnd: least === Number.POSITIVE_INFINITY };
}

/**
 * Finds the shortest prefix of the calls, by start time, that no order explains, and drops the
 * reads that the violation does not need; undefined if the calls are linearizable.
 */
export function violation<State, Request, Answer>(
  rules: Rules<State, Request, Answer>,
  calls: readonly Call<Request, Answer>[],
): Call<Request, Answer>[] | undefined {
  if (isLinear(rules, calls)) return undefined;
  const ends = calls.map(({ answeredAt }) => answeredAt).filter(Number.isFinite);
  ends.sort((one, other) => one - other);
  let [fine, broken] = [0, ends.length - 1];
  while (fine < broken) {
    const middle = (fine + broken) >> 1;
    if (isLinear(rules, until(calls, ends[middle]!))) fine = middle + 1;
    else broken = middle;
  }
  let left = until(calls, ends[broken]!);
  for (const call of left.filter(
    (it) => it.answer !== undefined && rules.isRead(it.request, it.answer),
  )) {
    const without = left.filter((it) => it !== call);
    if (!isLinear(rules, without)) left = without;
  }
  return left.toSorted((one, other) => one.calledAt - other.calledAt);
}

/** Calls as they were known at a time. */
function until<Request, Answer>(
  calls: readonly Call<Request, Answer>[],
  time: number,
): Call<Request, Answer>[] {
  return calls
    .filter(({ calledAt }) => calledAt <= time)
    .map((call) => {
      if (call.answeredAt <= time) return call;
      const { answer: _, ...rest } = call;
      return { ...rest, answeredAt: Number.POSITIVE_INFINITY };
    });
}
