import { expect, test } from "bun:test";
import { unlessAborted } from "../../src/concurrency/unless-aborted.ts";

const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ["resolved", value],
    (error: unknown) => ["rejected", error],
  );

test("work that a signal can end settles as it does, and leaves no listener at the signal", async () => {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  signal.addEventListener = (_: string, it: unknown) => void listeners.add(it);
  signal.removeEventListener = (_: string, it: unknown) => void listeners.delete(it);
  const failure = new Error("failed");
  expect(await outcomeOf(unlessAborted(Promise.resolve(7), signal))).toEqual(["resolved", 7]);
  const rejected = unlessAborted(Promise.reject(failure), signal);
  expect(listeners.size).toBe(1);
  expect(await outcomeOf(rejected)).toEqual(["rejected", failure]);
  expect(listeners.size).toBe(0);
});

test("work rejects with the reason of a signal that is aborted, before and after it began", async () => {
  const stop = new AbortController();
  const work = outcomeOf(unlessAborted(new Promise(() => {}), stop.signal));
  stop.abort("left");
  expect(await work).toEqual(["rejected", "left"]);
  const late = unlessAborted(Promise.resolve(7), stop.signal);
  expect(await outcomeOf(late)).toEqual(["rejected", "left"]);
});
