import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { connect, createServer } from "node:net";
import { withTimeLimit } from "../../src/concurrency/time-limit.ts";

const never = new Promise<never>(() => {});
const outcomeOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ["resolved", value],
    (error: unknown) => ["rejected", error],
  );

describe("work with a time limit", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());
  const late = () => new Error("late");

  test("settles as the work does, and leaves no timer", async () => {
    const failure = new Error("failed");
    expect(await outcomeOf(withTimeLimit(Promise.resolve(7), 10, late))).toEqual(["resolved", 7]);
    const rejected = withTimeLimit(Promise.reject(failure), 10, late);
    expect(await outcomeOf(rejected)).toEqual(["rejected", failure]);
    expect(jest.getTimerCount()).toBe(0);
  });

  test("rejects when the time is over, and not before", async () => {
    let outcome: unknown;
    const limited = outcomeOf(withTimeLimit(never, 10, late)).then((it) => {
      outcome = it;
    });
    jest.advanceTimersByTime(9);
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    expect(outcome).toBeUndefined();
    jest.advanceTimersByTime(2);
    await limited;
    expect(outcome).toEqual(["rejected", new Error("late")]);
  });
});

test("an answer that arrived while the process stood still counts", async () => {
  const ended = Promise.withResolvers<unknown>();
  const server = createServer((socket) => {
    socket.write("answer");
    const answer = new Promise((resolve) => client.once("data", resolve));
    ended.resolve(withTimeLimit(answer, 1, () => new Error("late")).catch((error) => error));
    Bun.sleepSync(20);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const client = connect(port, "127.0.0.1");
  expect(String(await ended.promise)).toBe("answer");
  client.destroy();
  server.close();
});
