import { expect, test } from "bun:test";
import type { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import { describeWith, testWith } from "../counterpart.ts";
import {
  type Asking,
  dataWithSource,
  openAsking,
  pixelUrl,
  recordsIn,
  until,
} from "../ingest/ingest-support.ts";
import { mountMissing } from "../small-disk.ts";
import { brokersMissing } from "./brokers.ts";
import { openLogs, startIngest } from "./ingest-support.ts";
import { settingsOf, withBrokers } from "./support.ts";

/** Pixels of a user, by their number. */
interface Sent {
  kept: Set<number>;
  refused: Set<number>;
  /** Number of broken connections, whose pixels have an unknown outcome. */
  unknown: Set<number>;
}

/** Users go on during all failures: without pauses they would take a whole core. */
const PAUSE_MS = 20;

/** Users who send one pixel after the other, until they are stopped. */
function sendAs(url: string, writeKey: string, users: number) {
  let isStopped = false;
  const sent = Array.from({ length: users }, (): Sent => {
    return { kept: new Set(), refused: new Set(), unknown: new Set() };
  });
  const runs = sent.map(async ({ kept, refused, unknown }, user) => {
    let asking: Asking | undefined;
    for (let n = 0; !isStopped; n++) {
      try {
        asking ??= await openAsking(url);
        const status = await asking.ask(`${pixelUrl("", writeKey, `u${user}`)}&n=${n}`);
        if (status !== 200 && status !== 503) throw new Error(`Answered ${status}`);
        (status === 200 ? kept : refused).add(n);
        await Bun.sleep(PAUSE_MS);
      } catch {
        unknown.add(n);
        asking = undefined;
        await Bun.sleep(PAUSE_MS);
      }
    }
    asking?.close();
  });
  const sizes = (of: keyof Sent) => sent.map((it) => it[of].size);
  return {
    sizes,
    /** Resolves when each of these users has received a number of further responses of a kind. */
    async more(of: keyof Sent, count: number, who: readonly number[] = sent.map((_, i) => i)) {
      const before = sizes(of);
      await until(() => who.every((user) => sent[user]![of].size >= before[user]! + count));
    },
    async stop() {
      isStopped = true;
      await Promise.all(runs);
      return sent;
    },
  };
}

/** Logs, ingest processes and users of a test. */
interface Running {
  logs: PartitionLogs;
  ingest: Awaited<ReturnType<typeof startIngest>>;
  users: ReturnType<typeof sendAs>;
  writeKey: string;
}

/** The numbers of each user's pixels in the order in which they are read. */
async function readNumbers(logs: PartitionLogs): Promise<Map<string, number[]>> {
  await logs.ends();
  const numbers = new Map<string, number[]>();
  for (const reader of logs.readers.values()) {
    for (const { query } of await recordsIn(reader)) {
      // Events of SDKs have none.
      if (query === undefined) continue;
      const parameters = new URLSearchParams(query);
      const user = parameters.get("anonymousId")!;
      const known = numbers.get(user) ?? [];
      known.push(Number(parameters.get("n")));
      numbers.set(user, known);
    }
  }
  return numbers;
}

/** Sends an event of each user as an SDK sends them; returns the status of the answer. */
async function sendBatch(url: string, writeKey: string, users: number): Promise<number> {
  const batch = Array.from({ length: users }, (_, user) => {
    return { type: "track", event: "Seen", anonymousId: `u${user}` };
  });
  const body = JSON.stringify({ writeKey, batch });
  return (await fetch(`${url}/v1/batch`, { method: "POST", body })).status;
}

/** Returns the number of events of SDKs that the logs have. */
async function countSdkEvents(logs: PartitionLogs): Promise<number> {
  await logs.ends();
  const records = await Promise.all([...logs.readers.values()].map((reader) => recordsIn(reader)));
  return records.flat().filter(({ query }) => query === undefined).length;
}

/** Every answered pixel is there once, and each user's are in order. */
function expectKept(read: Map<string, number[]>, sent: readonly Sent[]): void {
  for (const [user, { kept, refused, unknown }] of sent.entries()) {
    const numbers = read.get(`u${user}`) ?? [];
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    const there = new Set(numbers);
    expect([...kept].filter((n) => !there.has(n))).toEqual([]);
    const strange = numbers.filter((n) => !kept.has(n) && !refused.has(n) && !unknown.has(n));
    expect(strange).toEqual([]);
  }
}

describeWith(brokersMissing)("pixels into three brokers", () => {
  const { brokers } = withBrokers(3);
  /**
   * Calls `fail` while users send pixels into a topic of 6 partitions. Afterwards, when all users
   * are answered 200 again, every answered pixel must be there.
   */
  async function expectKeptWhile(
    name: string,
    fail: (running: Running) => Promise<void>,
    { partitions = 6, replicas = 3, users: count = 16, processes = 1 } = {},
  ): Promise<void> {
    const { data, writeKey } = await dataWithSource();
    const topic = { name, partitions, replicas };
    await using logs = await openLogs(settingsOf(brokers()), topic);
    await using ingest = await startIngest(data, logs, { count: processes });
    const users = sendAs(ingest.url, writeKey, count);
    await users.more("kept", 20);
    await fail({ logs, ingest, users, writeKey });
    await users.more("kept", 20);
    const sent = await users.stop();
    expectKept(await readNumbers(logs), sent);
  }

  test("are kept while an ingest process dies, and a broker that loses its disk too", async () => {
    const fail = async ({ ingest, users }: Running) => {
      await brokers().kill(0);
      brokers().wipe(0);
      await users.more("kept", 20);
      process.kill(ingest.pids()[0]!, "SIGKILL");
      await brokers().restart(0);
    };
    await expectKeptWhile("dying-under-load", fail, { processes: 2 });
  }, 600_000);

  test("are rejected while all brokers are down for 15 s, and accepted again afterwards", async () => {
    await expectKeptWhile("all-away", async ({ logs, ingest, users }) => {
      const pids = ingest.pids();
      const away = Bun.sleep(15_000);
      await Promise.all([0, 1, 2].map((index) => brokers().kill(index)));
      await users.more("refused", 5);
      await until(() => ingest.health().trouble !== undefined);
      await until(() => logs.trouble() !== undefined);
      // New connections fail with a retryable error during the outage.
      await expect(logs.ends()).rejects.toMatchObject({ refusal: "unavailable" });
      await away;
      await Promise.all([0, 1, 2].map((index) => brokers().restart(index)));
      await users.more("kept", 20);
      await until(() => ingest.health().trouble === undefined && logs.trouble() === undefined);
      expect(ingest.pids()).toEqual(pids);
    });
  }, 600_000);

  testWith(mountMissing)(
    "are kept while one broker's disk is full, refused while all are full, then accepted again",
    async () => {
      await expectKeptWhile("full-disks", async ({ logs, ingest, users }) => {
        const pids = ingest.pids();
        brokers().fill(0);
        await brokers().ended(0);
        await users.more("kept", 20);
        for (const index of [1, 2]) brokers().fill(index);
        await users.more("refused", 5);
        await until(() => ingest.health().trouble !== undefined && logs.trouble() !== undefined);
        await Promise.all([0, 1, 2].map((index) => brokers().ended(index)));
        for (const index of [0, 1, 2]) brokers().makeSpace(index);
        await Promise.all([0, 1, 2].map((index) => brokers().restart(index)));
        await users.more("kept", 20);
        await until(() => ingest.health().trouble === undefined && logs.trouble() === undefined);
        expect(ingest.pids()).toEqual(pids);
      });
    },
    600_000,
  );

  test("of a partition without a leader are rejected, and those of other partitions accepted", async () => {
    const fail = async ({ logs, ingest, users, writeKey }: Running) => {
      await brokers().kill(2);
      const before = users.sizes("refused");
      await until(() => users.sizes("refused").filter((it, i) => it > before[i]! + 5).length > 1);
      const without = [...before.keys()].filter((i) => users.sizes("refused")[i]! > before[i]!);
      const others = [...before.keys()].filter((i) => !without.includes(i));
      expect(others.length).toBeGreaterThan(1);
      await users.more("kept", 50, others);
      expect(users.sizes("refused").filter((_, i) => others.includes(i))).toEqual(
        before.filter((_, i) => others.includes(i)),
      );
      expect(ingest.health().trouble).toBeUndefined();
      // A batch with events for that partition is not stored in the others.
      const send = () => sendBatch(ingest.url, writeKey, 24);
      const answers = await Promise.all(Array.from({ length: 10 }, send));
      expect(answers).toEqual(Array(10).fill(503));
      await brokers().restart(2);
      await users.more("kept", 1);
      expect(await countSdkEvents(logs)).toBe(0);
      expect(await send()).toBe(200);
      expect(await countSdkEvents(logs)).toBe(24);
    };
    await expectKeptWhile("one-copy", fail, { partitions: 3, replicas: 1, users: 24 });
  }, 600_000);
});
