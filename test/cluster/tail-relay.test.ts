import { afterEach, expect, jest, onTestFinished, test } from "bun:test";
import type { NodeBus } from "../../src/cluster/node-bus/node-bus.ts";
import { createTailRelay } from "../../src/cluster/node-bus/tail-relay.ts";

afterEach(() => void jest.useRealTimers());

/** Relays of nodes over a bus that delivers at once, and what they said. */
function relays(count: number) {
  const listeners = Array.from({ length: count }, () => new Set<(message: unknown) => void>());
  const said: unknown[] = [];
  const buses = listeners.map(
    (own): NodeBus => ({
      publish(message) {
        said.push(message);
        for (const others of listeners) {
          if (others !== own) for (const listener of others) listener(message);
        }
      },
      subscribe(listener) {
        own.add(listener);
        return () => own.delete(listener);
      },
      trouble: () => undefined,
      async close() {},
    }),
  );
  const all = buses.map((bus) => createTailRelay<string>(bus));
  onTestFinished(() => {
    for (const relay of all) relay.close();
  });
  return { all, buses, said, listeners };
}

test("a message reaches the nodes that subscribe to its key, once for each subscription", () => {
  const { all } = relays(3);
  const [one, two, three] = all as [(typeof all)[0], (typeof all)[0], (typeof all)[0]];
  const seen: string[] = [];
  const see = (message: string) => void seen.push(message);
  expect([one.hasSubscribers, one.hasSubscriber("w1")]).toEqual([false, false]);
  const first = two.subscribe("w1", see);
  const second = two.subscribe("w1", see);
  expect([one.hasSubscribers, one.hasSubscriber("w1"), one.hasSubscriber("w2")]).toEqual([
    ...[true, true, false],
  ]);
  expect(two.hasSubscriber("w1")).toBe(false);
  one.publish("w1", "a");
  one.publish("w2", "b");
  three.publish("w1", "c");
  expect(seen).toEqual(["a", "a", "c", "c"]);
  first();
  first();
  one.publish("w1", "d");
  second();
  one.publish("w1", "e");
  expect(seen).toEqual(["a", "a", "c", "c", "d"]);
  // An old subscription that ends twice does not end a new one of the same key.
  two.subscribe("w1", see);
  second();
  one.publish("w1", "f");
  expect(seen.at(-1)).toBe("f");
});

test("a node announces its keys while it has subscribers, and others forget it when it is silent", () => {
  jest.useFakeTimers();
  const { all, said } = relays(2);
  const [here, there] = all as [(typeof all)[0], (typeof all)[0]];
  let announced = 0;
  there.onSubscribed(() => {
    announced += 1;
  });
  const end = here.subscribe("w1", () => {});
  here.subscribe("w2", () => {});
  expect(said).toEqual([
    ["looks", ["w1"]],
    ["looks", ["w1", "w2"]],
  ]);
  expect(announced).toBe(2);
  jest.advanceTimersByTime(2_000);
  expect(said.slice(2)).toEqual([["looks", ["w1", "w2"]]]);
  expect(announced).toBe(3);
  end();
  jest.advanceTimersByTime(9_000);
  expect([there.hasSubscriber("w1"), there.hasSubscriber("w2")]).toEqual([true, true]);
  jest.advanceTimersByTime(2_000);
  expect([there.hasSubscriber("w1"), there.hasSubscriber("w2")]).toEqual([false, true]);
  here.close();
  jest.advanceTimersByTime(14_000);
  expect([there.hasSubscriber("w2"), there.hasSubscribers]).toEqual([false, false]);
});

test("a relay takes nothing from messages of another kind, nor after it is closed", () => {
  const { all, buses, listeners } = relays(2);
  const [here, there] = all as [(typeof all)[0], (typeof all)[0]];
  const seen: string[] = [];
  here.subscribe("w1", (message) => void seen.push(message));
  for (const message of [
    undefined,
    "looks",
    {},
    [],
    ["looks"],
    ["looks", "w1"],
    ["shown", 1, "x"],
  ]) {
    buses[1]!.publish(message);
  }
  buses[1]!.publish(["other", "w1", "x"]);
  expect([here.hasSubscribers, seen]).toEqual([false, []]);
  there.publish("w1", "a");
  here.close();
  there.publish("w1", "b");
  expect(seen).toEqual(["a"]);
  expect(listeners[0]!.size).toBe(0);
});

test("a node remembers a bounded number of keys, and renews those that it has", () => {
  const { all, buses } = relays(2);
  const keys = Array.from({ length: 10_001 }, (_, n) => `w${n}`);
  buses[1]!.publish(["looks", keys]);
  const [here] = all;
  expect([here!.hasSubscriber("w9999"), here!.hasSubscriber("w10000")]).toEqual([true, false]);
});
