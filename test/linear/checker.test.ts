import { expect, test } from "bun:test";
import { type Call, isLinear, type Rules, violation } from "./checker.ts";

type Request = { write: number } | "read";

/** Rules of a register with one value, initially 0. */
const register: Rules<number, Request, number> = {
  begin: () => 0,
  step(state, request, answer) {
    if (request !== "read") return request.write;
    return answer === undefined || answer === state ? state : undefined;
  },
  isRead: (request) => request === "read",
  key: String,
};

const isRead = ({ request }: Call<Request, number>) => request === "read";
const write = (value: number, calledAt: number, answeredAt: number): Call<Request, number> => ({
  ...{ request: { write: value }, calledAt, answeredAt },
  ...(Number.isFinite(answeredAt) && { answer: value }),
});
const read = (seen: number, calledAt: number, answeredAt: number): Call<Request, number> => ({
  ...{ request: "read", calledAt, answeredAt, answer: seen },
});
const NEVER = Number.POSITIVE_INFINITY;

const cases: [string, Call<Request, number>[], boolean][] = [
  ["an empty history", [], true],
  ["a read of the value written before", [write(1, 0, 1), read(1, 2, 3)], true],
  ["a stale read", [write(1, 0, 1), read(0, 2, 3)], false],
  ["a read of the old value during a write", [write(1, 0, 9), read(0, 2, 3)], true],
  ["a read of the new value during a write", [write(1, 0, 9), read(1, 2, 3)], true],
  ["a read of the new, then the old value", [write(1, 0, 9), read(1, 1, 2), read(0, 3, 4)], false],
  ["an unanswered write without effect", [write(1, 0, NEVER), read(0, 5, 6)], true],
  [
    "an unanswered write with late effect",
    [write(1, 0, NEVER), read(0, 5, 6), read(1, 7, 8)],
    true,
  ],
  [
    "an unanswered write with two effects",
    [write(1, 0, NEVER), read(1, 5, 6), write(2, 7, 8), read(1, 9, 10)],
    false,
  ],
  [
    "a pair of unanswered writes in reverse order",
    [write(1, 0, NEVER), write(2, 0, NEVER), read(2, 5, 6), read(1, 7, 8)],
    true,
  ],
  ["a read of a value before its write began", [write(1, 5, NEVER), read(1, 2, 3)], false],
];
for (const [name, calls, expected] of cases) {
  test(`${name} is ${expected ? "linearizable" : "a violation"}`, () => {
    expect(isLinear(register, calls)).toBe(expected);
    expect(violation(register, calls) === undefined).toBe(expected);
  });
}

test("the checker agrees with an exhaustive search on random histories", () => {
  for (let seed = 0; seed < 3_000; seed++) {
    const calls = someCalls();
    expect([isLinear(register, calls), calls]).toEqual([isExplained(calls, 0), calls]);
  }
});

test("a violation is reported with only the calls that cause it", () => {
  const before = Array.from({ length: 50 }, (_, n) => [
    write(n, 10 * n, 10 * n + 3),
    read(n, 10 * n + 5, 10 * n + 6),
  ]).flat();
  const late = Array.from({ length: 50 }, (_, n) => read(49, 600 + n, 600.5 + n));
  const stale = read(48, 500, 501);
  const found = violation(register, [...before, stale, ...late]);
  expect(found).toHaveLength(51);
  expect(found!.filter(isRead)).toEqual([stale]);
});

test("many unanswered calls do not make the search long", () => {
  const unknown = Array.from({ length: 30 }, (_, n) => write(n + 1, n, NEVER));
  const calls = [...unknown, read(7, 50, 51), read(3, 52, 53), read(7, 54, 55)];
  expect(isLinear(register, calls)).toBe(false);
  expect(isLinear(register, calls.slice(0, -1))).toBe(true);
});

/** Creates a few calls with random times and values. */
function someCalls(): Call<Request, number>[] {
  const any = (count: number) => Math.floor(Math.random() * count);
  return Array.from({ length: 1 + any(6) }, () => {
    const calledAt = any(20) + Math.random();
    const answeredAt = calledAt + 0.1 + any(10);
    if (any(2) === 0) return read(any(4), calledAt, answeredAt);
    return write(1 + any(3), calledAt, any(3) === 0 ? NEVER : answeredAt);
  });
}

/** Tries every order that the times allow. */
function isExplained(calls: Call<Request, number>[], state: number): boolean {
  if (calls.every(({ answer }) => answer === undefined)) return true;
  const least = Math.min(...calls.map(({ answeredAt }) => answeredAt));
  return calls.some((call) => {
    if (call.calledAt > least) return false;
    const next = register.step(state, call.request, call.answer);
    return (
      next !== undefined &&
      isExplained(
        calls.filter((it) => it !== call),
        next,
      )
    );
  });
}
