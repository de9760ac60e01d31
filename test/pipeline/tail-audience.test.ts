import { expect, test } from "bun:test";
import { Packr } from "msgpackr";
import { parseToShow } from "../../src/json/parse-exact.ts";
import { LiveTail, type RemoteTail, type TailMessage } from "../../src/pipeline/live-tail.ts";
import { FakeLive, feedOf, MemoryLog, record } from "./doubles.ts";
import { until } from "./rig.ts";

const packr = new Packr({ useRecords: false });

/** Two nodes that hear each other at once. */
function audiences(): [RemoteTail, RemoteTail] {
  const looks: Map<string, Set<(message: TailMessage) => void>>[] = [new Map(), new Map()];
  const listeners: Set<() => void>[] = [new Set(), new Set()];
  const audience = (mine: 0 | 1): RemoteTail => {
    const other = mine === 0 ? 1 : 0;
    return {
      hasSubscriber: (key) => (looks[other]!.get(key)?.size ?? 0) > 0,
      get hasSubscribers() {
        return looks[other]!.size > 0;
      },
      publish(key, message) {
        for (const see of looks[other]!.get(key) ?? []) see(packr.decode(packr.encode(message)));
      },
      subscribe(key, see) {
        const sees = looks[mine]!.get(key) ?? new Set();
        looks[mine]!.set(key, sees.add(see));
        for (const listener of listeners[other]!) listener();
        return () => {
          sees.delete(see);
          if (sees.size === 0) looks[mine]!.delete(key);
        };
      },
      onSubscribed: (listener) => void listeners[mine]!.add(listener),
    };
  };
  return [audience(0), audience(1)];
}

test("a subscriber at one node sees events that another node received", async () => {
  const live = new FakeLive();
  live.addSource();
  const logs = [new MemoryLog(), new MemoryLog()];
  const [here, there] = audiences();
  const tails = [here, there].map(
    (audience, at) => new LiveTail(feedOf(logs[at]!), live, audience),
  );
  logs[1]!.append(record(0));
  await tails[1]!.advance();
  const seen: unknown[] = [];
  const end = tails[0]!.subscribe("workspace", ({ event }) =>
    seen.push((event as { n: number }).n),
  );
  logs[1]!.append(record(1));
  logs[0]!.append(record(2));
  await Promise.all(tails.map((tail) => tail.advance()));
  await until(() => seen.length === 2);
  expect(seen.sort()).toEqual([1, 2]);
  expect(tails[1]!.hasSubscriber("workspace")).toBe(true);
  expect(tails[1]!.hasSubscriber("other")).toBe(false);
  end();
  expect(tails[1]!.hasSubscriber("workspace")).toBe(false);
  logs[1]!.append(record(3));
  await tails[1]!.advance();
  expect(seen).toHaveLength(2);
});

test("events of another node keep the digits of large integers, and may be text", () => {
  const [here, there] = audiences();
  const [tail, other] = [here, there].map(
    (audience) => new LiveTail(feedOf(new MemoryLog()), new FakeLive(), audience),
  );
  const seen: unknown[] = [];
  const end = tail!.subscribe("workspace", ({ event }) => seen.push(event));
  const message = { stage: "received", sourceId: "s", at: 1, messageId: "m" } as const;
  const event = parseToShow('{"n":12345678901234567}');
  other!.publish("workspace", { ...message, event });
  other!.publish("workspace", { ...message, event: "no JSON" });
  // An older release sends events as they are.
  there.publish("workspace", { ...message, event: { n: 1 } });
  end();
  expect(seen.map((it) => JSON.stringify(it))).toEqual([
    '{"n":12345678901234567}',
    '"no JSON"',
    '{"n":1}',
  ]);
});
