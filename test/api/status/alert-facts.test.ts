import { expect, test } from "bun:test";
import { sourceFacts } from "../../../src/api/routes/alerts/alert-facts.ts";

type State = Parameters<typeof sourceFacts>[0];

/** A state of sources that each have a connection to a destination of the same number. */
function stateOf(count: number, onRead: () => void): State {
  const numbers = Array.from({ length: count }, (_, n) => String(n));
  const connection = (n: string) => ({
    sourceId: n,
    destinationId: n,
    get enabled() {
      onRead();
      return n !== "1";
    },
  });
  const states = ["ok", "ok", "blocked"];
  return {
    sources: numbers.map((id) => ({ id, name: id, enabled: true, receivedPerSecond: 0 })),
    connections: numbers.map(connection),
    destinations: numbers.map((id, n) => ({
      id,
      state: states[n] ?? "ok",
      lagSeconds: n === 3 ? 61 : 0,
    })),
  } as unknown as State;
}

test("a source is observed through an enabled connection to a destination that reads", () => {
  const facts = sourceFacts(stateOf(5, () => {}));
  expect(facts.map(({ isObserved }) => isObserved)).toEqual([true, false, false, false, true]);
});

test("each connection of a workspace is read once, however many sources there are", () => {
  let reads = 0;
  sourceFacts(stateOf(1_000, () => reads++));
  expect(reads).toBe(1_000);
});
