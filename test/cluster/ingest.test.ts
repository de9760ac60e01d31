import { expect, test } from "bun:test";
import { logNameOf, type PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { nextOffsetBase } from "../../src/cluster/topics/offset-base.ts";
import { BLOCK_RECORDS_MAX } from "../../src/log/block.ts";
import type { DurableRange } from "../../src/log/event-log.ts";
import { describeWith } from "../counterpart.ts";
import {
  dataWithSource,
  load,
  openAsking,
  pixelUrl,
  recordsIn,
  until,
  usersIn,
} from "../ingest/ingest-support.ts";
import { runs } from "../tier.ts";
import { brokersMissing } from "./brokers.ts";
import { openLogs, startIngest } from "./ingest-support.ts";
import { settingsOf, withBrokers } from "./support.ts";

const ONE_BLOCK = `1 block is missing, of 1 to ${BLOCK_RECORDS_MAX} events each`;

/** Who is in each partition, in order, once the brokers have told where all end. */
async function usersOf(logs: PartitionLogs): Promise<string[][]> {
  await logs.ends();
  return Promise.all(Array.from(logs.readers.values(), (reader) => usersIn(reader)));
}

/** One pixel over a connection of its own, so that any process may take it. */
async function send(url: string): Promise<number> {
  const asking = await openAsking(url);
  try {
    return await asking.ask(new URL(url).pathname + new URL(url).search);
  } finally {
    asking.close();
  }
}

describeWith(brokersMissing)("pixels into partitions", () => {
  const { brokers, clients } = withBrokers(1);
  const topic = (name: string, partitions: number) => ({ name, partitions, replicas: 1 });

  test("a user's pixels go to one partition in order, whichever process takes them", async () => {
    const { data, writeKey } = await dataWithSource();
    await using logs = await openLogs(settingsOf(brokers()), topic("users", 4));
    await using ingest = await startIngest(data, logs, { count: 2 });
    for (let n = 0; n < 10; n++) {
      const sent = Array.from({ length: 20 }, (_, user) => {
        const url = pixelUrl(ingest.url, writeKey, `u${user}`);
        // One id, encoded in different ways.
        return send(`${n % 2 ? url.replace("=u", "=%75") : url}&n=${n}`);
      });
      expect(await Promise.all(sent)).toEqual(sent.map(() => 200));
    }
    await logs.ends();
    const seen = new Map<string, { log: string; numbers: number[] }>();
    for (const [log, reader] of logs.readers) {
      for (const { query } of await recordsIn(reader)) {
        const parameters = new URLSearchParams(query);
        const user = parameters.get("anonymousId")!;
        const known = seen.get(user) ?? { log, numbers: [] };
        expect(known.log).toBe(log);
        known.numbers.push(Number(parameters.get("n")));
        seen.set(user, known);
      }
    }
    expect(seen.size).toBe(20);
    for (const { numbers } of seen.values()) expect(numbers).toEqual([...Array(10).keys()]);
    expect(new Set(Array.from(seen.values(), ({ log }) => log)).size).toBeGreaterThan(1);
  }, 300_000);

  test("followers of a partition are notified of new records, with their sources", async () => {
    const { data, writeKey } = await dataWithSource();
    await using logs = await openLogs(settingsOf(brokers()), topic("news", 2));
    await using ingest = await startIngest(data, logs);
    const news: (DurableRange | undefined)[] = [];
    logs.onDurable((it) => news.push(it));
    const unfollow = [...logs.readers.keys()].map((log) => logs.follow(log));
    await until(() => news.length >= 2);
    news.length = 0;
    expect(await send(pixelUrl(ingest.url, writeKey, "a"))).toBe(200);
    await until(() => news.length > 0);
    const { log, end, sources } = news[0]!;
    const reader = logs.readers.get(log)!;
    const [record] = await recordsIn(reader);
    expect(sources).toEqual([record!.sourceId]);
    expect([reader.end(), (await logs.ends())[log]]).toEqual([end, end]);
    expect(reader.countBetween(0, end)).toBe(1);
    for (const stop of unfollow) stop();
    news.length = 0;
    expect(await send(pixelUrl(ingest.url, writeKey, "a"))).toBe(200);
    // An end is known as soon as it is asked for.
    await logs.ends();
    expect(reader.end()).toBeGreaterThan(end);
    expect(news).toEqual([]);
  }, 300_000);

  test("killing ingest processes loses nothing acknowledged", async () => {
    const { data, writeKey } = await dataWithSource();
    await using logs = await openLogs(settingsOf(brokers()), topic("killed", 3));
    await using ingest = await startIngest(data, logs, { count: 2 });
    const pixels = load(ingest.url, writeKey, 16);
    for (let kill = 0; kill < runs(1, 3); kill++) {
      const acknowledged = pixels.acknowledged.size;
      await until(() => pixels.acknowledged.size > acknowledged + 200);
      const [pid] = ingest.pids();
      process.kill(pid!, "SIGKILL");
      await until(
        () =>
          ingest.pids().length === 2 &&
          ingest.pids()[0] !== pid &&
          ingest.health().trouble === undefined,
      );
    }
    await pixels.stop();
    const users = (await usersOf(logs)).flat();
    expect(new Set(users).size).toBe(users.length);
    const kept = new Set(users);
    expect([...pixels.acknowledged].filter((user) => !kept.has(user))).toEqual([]);
  }, 300_000);

  test("added partitions are written and read by all running processes", async () => {
    const { data, writeKey } = await dataWithSource();
    const few = topic("growing", 2);
    await using logs = await openLogs(settingsOf(brokers()), few);
    await using ingest = await startIngest(data, logs);
    expect(await send(pixelUrl(ingest.url, writeKey, "before"))).toBe(200);
    await using more = await openLogs(settingsOf(brokers()), { ...few, partitions: 6 });
    await until(() => logs.readers.size === 6);
    let n = 0;
    await until(async () => {
      expect(await send(pixelUrl(ingest.url, writeKey, `u${n++}`))).toBe(200);
      return (await usersOf(logs)).every((users) => users.length > 0);
    });
    expect((await usersOf(more)).flat().sort()).toEqual((await usersOf(logs)).flat().sort());
    expect((await usersOf(logs)).flat()).toHaveLength(n + 1);
  }, 300_000);

  test("deleted events that lanes have not read are reported as lost", async () => {
    const { data, writeKey } = await dataWithSource();
    await using logs = await openLogs(settingsOf(brokers()), topic("lost", 1));
    await using others = await openLogs(settingsOf(brokers()), topic("lost", 1));
    await using ingest = await startIngest(data, logs);
    for (let n = 0; n < 4; n++) await send(pixelUrl(ingest.url, writeKey, `u${n}`));
    const log = logNameOf(0);
    const reader = logs.readers.get(log)!;
    await logs.ends();
    const release = logs.acquire(log);
    expect(await usersIn(reader, 0)).toEqual(["u0", "u1", "u2", "u3"]);
    const places = (await reader.read(0, 1 << 20)).records.map(({ sequence }) => sequence);
    await others.ends();
    await others.readers.get(log)!.trim(places[2]!);
    expect(await send(pixelUrl(ingest.url, writeKey, "u4"))).toBe(200);
    const end = (await logs.ends())[log]!;
    await until(() => reader.first() > 0 && reader.end() >= end);
    expect(logs.warnings()).toEqual([]);
    expect(await usersIn(reader, places[1]!)).toEqual(["u2", "u3", "u4"]);
    expect(logs.warnings()).toEqual([`Partition 0 of lost: ${ONE_BLOCK}`]);
    // Events that the owner itself has trimmed are no loss.
    await reader.trim(places[3]!);
    expect(await usersIn(reader, places[2]!)).toEqual(["u3", "u4"]);
    expect(logs.warnings()).toEqual([`Partition 0 of lost: ${ONE_BLOCK}`]);
    // Nor is it one for a node that has not heard of it.
    await others.ends();
    expect(await usersIn(others.readers.get(log)!, 0)).toEqual(["u3", "u4"]);
    expect(others.warnings()).toEqual([]);
    release();
  }, 300_000);

  test("a log of a recreated topic is read from its first event, at positions above the former ones", async () => {
    const { data, writeKey } = await dataWithSource();
    const settings = topic("recreated", 1);
    await using logs = await openLogs(settingsOf(brokers()), settings);
    const log = logNameOf(0);
    const reader = logs.readers.get(log)!;
    {
      await using ingest = await startIngest(data, logs);
      for (let n = 0; n < 4; n++) await send(pixelUrl(ingest.url, writeKey, `u${n}`));
    }
    const known = (await logs.ends())[log]!;
    const { base: before } = nextOffsetBase(undefined, await logs.topicEnd(log, known));
    logs.setOffsetBase(log, before);
    expect(logs.warnings()).toEqual([]);
    const release = logs.acquire(log);
    expect(await usersIn(reader, 0)).toHaveLength(4);
    const told = Promise.withResolvers<string[]>();
    logs.onOffsetsInvalid(told.resolve);
    const admin = clients().admin();
    await admin.deleteTopics({ topics: [settings.name] });
    while ((await admin.listTopics()).includes(settings.name)) await Bun.sleep(20);
    await ensureTopic(admin, settings);
    expect(await told.promise).toEqual([log]);
    const { base, loss } = nextOffsetBase(before, await logs.topicEnd(log, known));
    logs.setOffsetBase(log, base, 0, loss);
    await using ingest = await startIngest(data, logs);
    expect(await send(pixelUrl(ingest.url, writeKey, "u4"))).toBe(200);
    expect(await send(pixelUrl(ingest.url, writeKey, "u5"))).toBe(200);
    await until(async () => (await usersIn(reader, known)).length === 2);
    expect(await usersIn(reader, known)).toEqual(["u4", "u5"]);
    expect(reader.first()).toBeGreaterThan(known);
    expect(reader.countBetween(known, reader.end())).toBe(2);
    await reader.trim(reader.end());
    expect(reader.first()).toBe(reader.end());
    expect(logs.warnings()).toEqual([`Partition 0 of recreated: ${ONE_BLOCK}`]);
    release();
  }, 300_000);

  test("a log that has lost its end continues at the position that was read", async () => {
    const { data, writeKey } = await dataWithSource();
    await using logs = await openLogs(settingsOf(brokers()), topic("shorter", 1));
    await using ingest = await startIngest(data, logs);
    for (let n = 0; n < 4; n++) await send(pixelUrl(ingest.url, writeKey, `u${n}`));
    const log = logNameOf(0);
    const reader = logs.readers.get(log)!;
    // The cursor is three blocks beyond the end of the log.
    const known = (await logs.ends())[log]! + 3 * BLOCK_RECORDS_MAX;
    const found = await logs.topicEnd(log, known);
    const { base, loss } = nextOffsetBase({ topic: found.topic, base: 0 }, found);
    logs.setOffsetBase(log, base, 0, loss);
    const release = logs.acquire(log);
    expect(await send(pixelUrl(ingest.url, writeKey, "u4"))).toBe(200);
    await until(async () => (await usersIn(reader, known)).length > 0);
    expect(await usersIn(reader, known)).toEqual(["u4"]);
    expect(logs.warnings()).toEqual([
      `Partition 0 of shorter: 3 blocks are missing, of 1 to ${BLOCK_RECORDS_MAX} events each`,
    ]);
    release();
  }, 300_000);
});
