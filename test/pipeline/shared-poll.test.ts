import { afterEach, expect, spyOn, test } from "bun:test";
import { SharedPoll } from "../../src/pipeline/shared-poll.ts";
import { until } from "../until.ts";

const setTimer = spyOn(globalThis, "setInterval");
const clearTimer = spyOn(globalThis, "clearInterval");
afterEach(() => {
  setTimer.mockClear();
  clearTimer.mockClear();
});

test("functions that are polled share one timer, which ends with the last of them", async () => {
  const poll = new SharedPoll(1);
  const calls = [0, 0, 0];
  const removals = [...calls.keys()].map((at) =>
    poll.add(() => {
      calls[at]! += 1;
    }),
  );
  await until(() => calls.every((count) => count > 1), "all functions to be called");
  expect(setTimer).toHaveBeenCalledTimes(1);

  removals[0]!();
  const [removed] = calls;
  calls.fill(0, 1);
  await until(() => calls[1]! > 1 && calls[2]! > 1, "the others to be called again");
  expect(calls[0]).toBe(removed!);

  expect(clearTimer).not.toHaveBeenCalled();
  removals[1]!();
  removals[2]!();
  expect(clearTimer).toHaveBeenCalledTimes(1);
  poll.add(() => {})();
  expect(setTimer).toHaveBeenCalledTimes(2);
});
