import { expect, test } from "bun:test";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { judgeTopics } from "../../src/cluster/topics/topic-health.ts";
import { LogUnavailable } from "../../src/log/event-log.ts";
import { describeWith } from "../counterpart.ts";
import { readAll, until } from "../log/support.ts";
import { brokersMissing } from "./brokers.ts";
import { openTopic, withBrokers } from "./support.ts";

/** Appends one after the other until `stopped`; returns what was answered for, and what was not. */
async function appendUntil(
  append: (text: string) => Promise<void>,
  name: string,
  stopped: () => boolean,
) {
  const kept: string[] = [];
  const refused = new Set<string>();
  for (let i = 0; !stopped(); i++) {
    const text = `${name} ${i}`;
    try {
      await append(text);
      kept.push(text);
    } catch (error) {
      expect(error).toBeInstanceOf(LogUnavailable);
      refused.add(text);
      await Bun.sleep(20);
    }
  }
  return { kept, refused };
}

describeWith(brokersMissing)("partitions on three brokers", () => {
  const { brokers, clients } = withBrokers(3);

  /** The topics' health, which names a broker that is down and the partitions that miss it. */
  async function watchHealth() {
    const topics = [
      { name: "copied", partitions: 1, replicas: 3 },
      { name: "alone", partitions: 3, replicas: 1 },
    ];
    for (const topic of topics) await ensureTopic(clients().admin(), topic);
    const needed = topics.map((topic) => ({ ...topic, isVital: true, remedy: "restore it" }));
    const health = judgeTopics({ clients: clients(), topics: () => needed });
    const row = new RegExp(
      `^Broker 1 \\(${brokers().addresses[0]}\\) does not answer; ` +
        "alone has no leader, and is neither read nor written, in partitions \\d; " +
        "copies are missing of copied$",
    );
    const isNamed = () => {
      const warnings = health.warnings();
      return warnings.length === 1 && row.test(warnings[0]!);
    };
    return {
      named: () => until(isNamed),
      well: () => until(() => health.warnings().length === 0),
    };
  }

  const hold = async (signal: NodeJS.Signals) => {
    process.kill(brokers().pids()[0]!, signal);
  };
  type Loss = [how: string, lose: () => Promise<void>, regain: () => Promise<void>];
  const losses: Loss[] = [
    ["dies", () => brokers().kill(0), () => brokers().restart(0)],
    ["stands still", () => hold("SIGSTOP"), () => hold("SIGCONT")],
  ];
  test.each(losses)(
    "keep what was answered for while a broker %s and comes back, and one that is down is named",
    async (how, lose, regain) => {
      const name = how.replace(" ", "-");
      const logs = await openTopic(clients(), { name, partitions: 3, replicas: 3 });
      const writers = await Promise.all([0, 1, 2].map((it) => logs.writer(it)));
      const health = await watchHealth();
      await health.well();
      let phase = 0;
      let counts = [0, 0, 0];
      const appends = writers.map((writer, i) => {
        const append = async (text: string) => {
          await writer.append(text);
          counts[i] = counts[i]! + 1;
        };
        return appendUntil(append, `partition ${i},`, () => phase === 3);
      });
      const written = () => counts.every((count) => count >= 20);
      const next = () => {
        phase++;
        counts = [0, 0, 0];
      };
      await until(written);
      await lose();
      next();
      // Also in the partition that the dead one led.
      await until(written);
      if (how === "dies") await health.named();
      await regain();
      next();
      await until(written);
      await health.well();
      next();
      for (const [i, { kept, refused }] of (await Promise.all(appends)).entries()) {
        const reader = await logs.reader(i);
        reader.advance(writers[i]!.durable());
        const read = (await readAll(reader)).map(([, text]) => text);
        expect(read.filter((text) => !refused.has(text))).toEqual(kept);
        expect(new Set(read).size).toBe(read.length);
      }
    },
    900_000,
  );
});
