import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openOrderedTopic } from "../../src/cluster/ordered-log/ordered-topic.ts";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { ApiError } from "../../src/errors.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { quiet } from "../log/support.ts";
import { openNode } from "../store/nodes.ts";
import { brokersMissing } from "./brokers.ts";
import { type LinkedBrokers, startLinkedBrokers } from "./linked-brokers.ts";

const name = "replaced";
/** Kafka's error code of a write that not all in-sync replicas have confirmed in time. */
const REQUEST_TIMED_OUT = 7;

describeWith(brokersMissing)("a leader that is cut off from the other brokers", () => {
  let brokers: LinkedBrokers;
  let leader: number;
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-replaced-"));
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    brokers = await startLinkedBrokers(2, ["replica.lag.time.max.ms=5000"]);
  }, 300_000);
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
    await brokers?.stop();
    rmSync(directory, { recursive: true });
  }, 300_000);

  /** Connects a node that names the brokers in this order. */
  async function connect(node: number, order: readonly number[]) {
    const addresses = brokers.addressesOf(node);
    const clients = await connectClients({ brokers: order.map((it) => addresses[it]!) });
    ends.push(() => clients.close());
    return clients;
  }

  async function open(node: number, order: readonly number[]) {
    const clients = await connect(node, order);
    const options = { clients, name, partitions: 1, replicas: 3, logger: quiet };
    const [log] = await openOrderedTopic(options);
    const store = openNode(join(directory, `${node}.mdb`), log!);
    ends.push(() => store.close());
    return { clients, store, numbers: store.table<number, string>("numbers") };
  }

  test("gives no reader an old state, and acknowledges no entry", async () => {
    const first = await connect(0, [0, 1, 2]);
    await ensureTopic(first.admin(), { name, partitions: 1, replicas: 3 });
    leader = await brokers.agreedLeaderOf(name, 0);
    const others = [0, 1, 2].filter((it) => it !== leader);
    // One node asks the broker first that will be cut off, the other one asks it last.
    const near = await open(0, [leader, ...others]);
    const far = await open(1, [...others, leader]);
    const write = (value: number) => far.store.change(() => far.numbers.put("n", value));
    // A busy machine may take longer than a change may last.
    await waitFor(async () => {
      try {
        await write(1);
        await near.store.catchUp();
        return true;
      } catch {
        return false;
      }
    }, "the first change");
    expect(near.numbers.get("n")).toBe(1);

    const producer = near.clients.producer();
    await producer.leaders(name);
    brokers.isolate(leader);
    const producerId = await far.clients.producer().initProducerId();
    const batch = {
      topic: name,
      partition: 0,
      sequence: 0,
      messages: [{ value: Buffer.alloc(0) }],
    };
    // The monitor of the brokers may close the connection before the leader refuses the entry.
    const refusals = producer.produce(leader + 1, producerId, [batch]).then(
      (responses) => responses.map(({ errorCode }) => errorCode),
      () => [REQUEST_TIMED_OUT],
    );

    let answered = 1;
    let isOver = false;
    const outcomes = { current: 0, refused: 0, stale: [] as string[] };
    const reading = (async () => {
      while (!isOver) {
        const expected = answered;
        try {
          await near.store.catchUp();
        } catch (error) {
          if (!(error instanceof ApiError) || error.refusal !== "unavailable") throw error;
          outcomes.refused += 1;
          await Bun.sleep(100);
          continue;
        }
        const found = near.numbers.get("n")!;
        if (found < expected) outcomes.stale.push(`${found} after ${expected}`);
        else outcomes.current += 1;
      }
    })();
    // Changes go on as soon as the other brokers have elected a leader.
    for (let value = 2; value < 30; ) {
      try {
        await write(value);
        answered = value;
        value += 1;
      } catch {
        await Bun.sleep(100);
      }
    }
    expect(await brokers.leaderOf(name, 0, leader)).toBe(leader);
    expect(await refusals).toEqual([REQUEST_TIMED_OUT]);
    brokers.heal();
    await waitFor(
      () => outcomes.current > 0 && near.numbers.get("n") === answered,
      "the node to read what was changed meanwhile",
    );
    isOver = true;
    await reading;
    expect(outcomes.stale).toEqual([]);
  }, 300_000);
});
