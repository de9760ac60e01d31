import { expect, test } from "bun:test";
import { type Call, isLinearizable } from "./linearizable.ts";

type Input = { put: number } | "get";

const register = {
  initial: 0,
  step: (state: number, input: Input) =>
    input === "get" ? { output: state, state } : { output: -1, state: input.put },
};
const call = (start: number, end: number, input: Input, output?: number): Call<Input, number> => {
  return { start, end, input, output };
};

test.each([
  ["nothing", true, []],
  ["one after the other", true, [call(1, 2, { put: 1 }, -1), call(3, 4, "get", 1)]],
  ["a stale read", false, [call(1, 2, { put: 1 }, -1), call(3, 4, "get", 0)]],
  ["a read beside a write", true, [call(1, 4, { put: 1 }, -1), call(2, 3, "get", 0)]],
  [
    "reads beside a write that go back",
    false,
    [call(1, 9, { put: 1 }, -1), call(2, 3, "get", 1), call(4, 5, "get", 0)],
  ],
  [
    "a write that was not answered and came late",
    true,
    [call(1, 2, { put: 1 }), call(3, 4, "get", 0), call(5, 6, "get", 1)],
  ],
  [
    "a write that was not answered and came before it began",
    false,
    [call(1, 2, "get", 1), call(3, 4, { put: 1 })],
  ],
])("a history with %s is linearizable: %p", (_, expected, history) => {
  expect(isLinearizable(history as Call<Input, number>[], register)).toBe(expected as boolean);
});
