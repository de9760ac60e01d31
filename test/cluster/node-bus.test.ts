import { expect, spyOn, test } from "bun:test";
import { type NodeBus, openNodeBus } from "../../src/cluster/node-bus/node-bus.ts";
import { createTailRelay } from "../../src/cluster/node-bus/tail-relay.ts";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { describeWith } from "../counterpart.ts";
import { quiet } from "../log/support.ts";
import { until } from "../until.ts";
import { brokersMissing } from "./brokers.ts";
import { withBrokers } from "./support.ts";

describeWith(brokersMissing)("what nodes tell each other", () => {
  const { clients } = withBrokers(1);
  const open = (topic: string) =>
    openNodeBus({ clients: clients(), name: topic, replicas: 1, logger: quiet });

  test("is received by all other nodes in order, and not by its sender", async () => {
    const nodes = await Promise.all([open("told"), open("told"), open("told")]);
    const heard: unknown[][] = nodes.map(() => []);
    nodes.forEach((node, at) => {
      node.subscribe((message) => heard[at]!.push(message));
    });
    // A node receives messages once it knows the end of the topic.
    const marks = setInterval(() => nodes[0]!.publish("mark"), 50);
    await until(() => [1, 2].every((at) => heard[at]!.length > 0));
    clearInterval(marks);
    for (let n = 0; n < 2_000; n++) nodes[0]!.publish({ n });
    nodes[0]!.publish("x".repeat(1 << 20));
    nodes[0]!.publish("end");
    await until(() => [1, 2].every((at) => heard[at]!.at(-1) === "end"));
    const numbers = Array.from({ length: 2_000 }, (_, n) => ({ n }));
    for (const at of [1, 2]) {
      expect(heard[at]!.filter((it) => typeof it === "object")).toEqual(numbers);
      // A message that is too large is dropped.
      expect(heard[at]!.at(-2)).toEqual({ n: 1_999 });
    }
    expect(heard[0]).toEqual([]);
    await Promise.all(nodes.map((node) => node.close()));
  }, 300_000);

  test.each([-26, -1, 0, 1, 26])(
    "is taken from a node whose clock is off by %d hours, which learns of it",
    async (hours) => {
      const topic = `hours${hours}`;
      // A topic of an older release has the times of the writers.
      const settings = { name: topic, partitions: 1, replicas: 1 };
      if (hours < 0) {
        await ensureTopic(clients().admin(), {
          ...settings,
          retention: { ms: 60_000, bytes: 1e8 },
        });
      }
      const real = Date.now.bind(Date);
      const clock = spyOn(Date, "now").mockImplementation(() => real() + hours * 3_600_000);
      try {
        const nodes = await Promise.all([open(topic), open(topic)]);
        const heard: unknown[] = [];
        nodes[1]!.subscribe((message) => heard.push(message));
        const errorMs = () => clients().clockErrorMs() ?? Number.NaN;
        await until(() => {
          nodes[0]!.publish("mark");
          return heard.length > 0 && Math.round(errorMs() / 3_600_000) === hours;
        });
        // The bounds of an answered request never overstate the error.
        expect(Math.abs(errorMs())).toBeLessThanOrEqual(Math.abs(hours) * 3_600_000);
        await Promise.all(nodes.map((node) => node.close()));
      } finally {
        clock.mockRestore();
      }
    },
    300_000,
  );

  test("sends figures of the live tail only to nodes with a subscriber", async () => {
    const nodes = await Promise.all([open("shown"), open("shown")]);
    const [here, there] = nodes.map((node: NodeBus) => createTailRelay<number>(node));
    let begun = 0;
    there!.onSubscribed(() => {
      begun += 1;
    });
    expect(there!.hasSubscribers).toBe(false);
    const seen: number[] = [];
    const end = here!.subscribe("one", (shown) => seen.push(shown));
    await until(() => there!.hasSubscriber("one"));
    expect(begun).toBeGreaterThan(0);
    expect(there!.hasSubscriber("two")).toBe(false);
    there!.publish("two", 2);
    there!.publish("one", 1);
    await until(() => seen.length > 0);
    expect(seen).toEqual([1]);
    end();
    await until(() => !there!.hasSubscriber("one"));
    here!.close();
    there!.close();
    await Promise.all(nodes.map((node) => node.close()));
  }, 300_000);
});
