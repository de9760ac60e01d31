/** A call of a client. Times are milliseconds of one clock. */
export interface Call<Request, Answer> {
  request: Request;
  calledAt: number;
  /** Infinity when no answer came: the call may take effect at any time after it, or never. */
  answeredAt: number;
  answer?: Answer;
}

/** What calls do, one after another, to a thing that each of them sees alone. */
export interface Rules<State, Request, Answer> {
  begin(): State;
  /**
   * What the call makes of the state, where it may be answered like that there; else undefined.
   * Without an answer any would do. A state is never changed: one that the call leaves as it was
   * may be returned.
   */
  step(state: State, request: Request, answer: Answer | undefined): State | undefined;
  /** Whether a call that is answered like that changes nothing, whatever the state. */
  isRead(request: Request, answer: Answer): boolean;
  /** Equal for equal states. */
  key(state: State): string;
}

/** Sets of calls, with a state, that a check may look at before it gives up. */
const LOOKS_MAX = 500_000;

/** So many orders are possible that a check has given up. */
export class Undecided extends Error {}

/** How far an order of calls has come. */
interface Place<State> {
  state: State;
  /** A bit for each call. */
  done: bigint;
  /** Calls that may come next and were not tried. */
  next: number[];
  /** All that was answered is done. */
  isEnd: boolean;
  /** The call that led here from `before`, when it is one that was not answered. */
  unknown?: { index: number; before: State };
}

/**
 * Whether there is an order of the calls that explains all answers, and in which each call lies
 * between its beginning and its answer. The search is that of Wing and Gong, with Lowe's memory of
 * what was tried, as Porcupine has it. A read that can be explained where it is met first is not
 * tried later. A call without an answer is put only where the next one
 * would not come out like that without it.
 */
export function isLinear<State, Request, Answer>(
  rules: Rules<State, Request, Answer>,
  calls: readonly Call<Request, Answer>[],
): boolean {
  const inOrder = calls.toSorted((one, other) => one.calledAt - other.calledAt);
  const tried = new Set<string>();
  const way: Place<State>[] = [{ state: rules.begin(), done: 0n, ...candidates(inOrder, 0n) }];
  for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
    if (top.isEnd) return true;
    const index = top.next.shift();
    if (index === undefined) {
      way.pop();
      continue;
    }
    const { request, answer } = inOrder[index]!;
    const state = rules.step(top.state, request, answer);
    if (state === undefined || (answer === undefined && state === top.state)) continue;
    // A read is in nobody's way: when it may come next, no order is needed in which it comes later.
    if (answer !== undefined && rules.isRead(request, answer)) top.next = [];
    const key = rules.key(state);
    if (top.unknown !== undefined && isSpared(rules, inOrder, top.unknown, index, key)) {
      continue;
    }
    const done = top.done | (1n << BigInt(index));
    const unknown = answer === undefined && { unknown: { index, before: top.state } };
    const place = `${done.toString(36)} ${unknown ? index : ""} ${Bun.hash(key).toString(36)}`;
    if (tried.has(place)) continue;
    if (tried.size === LOOKS_MAX) throw new Undecided(`Gave up after ${LOOKS_MAX} looks`);
    tried.add(place);
    way.push({ state, done, ...candidates(inOrder, done), ...unknown });
  }
  return false;
}

/**
 * Whether a call does the same without the one before it that was not answered, or just as well
 * before that; of two that may change places, one comes first.
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
 * Which calls may come next: those that began before any of the rest was answered. What was
 * answered is tried first; it is the end when all that was answered is done.
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
 * The shortest part of the calls that no order explains, by their beginnings; undefined when one
 * explains all. Of reads only those are left that it takes.
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

/** The calls as they were known at a time. */
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
