import { expect, test } from "bun:test";
import { type Call, isLinear, type Rules, violation } from "./checker.ts";

type Request = { write: number } | "read";

/** One value, 0 at first. */
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
  ["nothing at all", [], true],
  ["a read of what was written before", [write(1, 0, 1), read(1, 2, 3)], true],
  ["a stale read", [write(1, 0, 1), read(0, 2, 3)], false],
  ["a read beside a write, before it", [write(1, 0, 9), read(0, 2, 3)], true],
  ["a read beside a write, after it", [write(1, 0, 9), read(1, 2, 3)], true],
  ["two reads that see a write come and go", [write(1, 0, 9), read(1, 1, 2), read(0, 3, 4)], false],
  ["a write that nobody knows of, not done", [write(1, 0, NEVER), read(0, 5, 6)], true],
  ["one done late", [write(1, 0, NEVER), read(0, 5, 6), read(1, 7, 8)], true],
  [
    "one done once only",
    [write(1, 0, NEVER), read(1, 5, 6), write(2, 7, 8), read(1, 9, 10)],
    false,
  ],
  [
    "two that nobody knows of, in the other order",
    [write(1, 0, NEVER), write(2, 0, NEVER), read(2, 5, 6), read(1, 7, 8)],
    true,
  ],
  ["one that had not begun when it was seen", [write(1, 5, NEVER), read(1, 2, 3)], false],
];
for (const [name, calls, expected] of cases) {
  test(`${name} is ${expected ? "explained by an order" : "a violation"}`, () => {
    expect(isLinear(register, calls)).toBe(expected);
    expect(violation(register, calls) === undefined).toBe(expected);
  });
}

test("an order is found as if every one were tried", () => {
  for (let seed = 0; seed < 3_000; seed++) {
    const calls = someCalls();
    expect([isLinear(register, calls), calls]).toEqual([isExplained(calls, 0), calls]);
  }
});

test("a violation is told by the calls that it takes", () => {
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

test("many calls that nobody knows of do not make the search long", () => {
  const unknown = Array.from({ length: 30 }, (_, n) => write(n + 1, n, NEVER));
  const calls = [...unknown, read(7, 50, 51), read(3, 52, 53), read(7, 54, 55)];
  expect(isLinear(register, calls)).toBe(false);
  expect(isLinear(register, calls.slice(0, -1))).toBe(true);
});

/** A few calls with times and values by chance. */
function someCalls(): Call<Request, number>[] {
  const any = (count: number) => Math.floor(Math.random() * count);
  return Array.from({ length: 1 + any(6) }, () => {
    const calledAt = any(20) + Math.random();
    const answeredAt = calledAt + 0.1 + any(10);
    if (any(2) === 0) return read(any(4), calledAt, answeredAt);
    return write(1 + any(3), calledAt, any(3) === 0 ? NEVER : answeredAt);
  });
}

/** Every order that the times allow, one after another. */
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
