import { afterAll, beforeAll, expect, test } from "bun:test";
import { describeWith } from "../counterpart.ts";
import {
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { type Brokers, brokersMissing } from "./brokers.ts";
import { sharedBrokers } from "./shared-brokers.ts";

const PARTITIONS = 4;
/** Users of all partitions. */
const users = Array.from({ length: 12 }, (_, n) => `user-${n}`);
/** A batch of two events for each user. */
const batch = ["one", "two"].flatMap((name) => users.map((user) => `${user} ${name}`));

describeWith(brokersMissing)("a batch of an SDK that is sent again", () => {
  let brokers: Brokers;
  const running = new Set<Server>();
  const directories: string[] = [];
  const sink = startSink();

  async function startNode(): Promise<Server> {
    const directory = temporaryDirectory();
    directories.push(directory);
    const flags = [
      ...["--cluster-kafka", brokers.addresses.join(","), "--cluster-replicas", "1"],
      ...["--cluster-partitions", String(PARTITIONS)],
    ];
    const node = await startServer({ directory, flags });
    running.add(node);
    return node;
  }

  async function stopNode(node: Server): Promise<void> {
    running.delete(node);
    expect(await node.stop()).toBe(0);
  }

  beforeAll(async () => {
    brokers = await sharedBrokers(1);
  }, 600_000);
  afterAll(async () => {
    await Promise.all([...running].map((node) => node.stop()));
    await brokers?.stop();
    sink.stop();
    directories.forEach(removeDirectory);
  }, 600_000);

  /** Waits until `count` nodes run all partitions, and have no event to deliver. */
  async function isShared(at: Server, count: number): Promise<void> {
    await waitFor(async () => {
      const { nodes, partitions } = (await at.api("GET", "/v2/cluster")).body;
      const own = nodes.map((it: { partitions: number[] }) => it.partitions.length);
      const lags = partitions.map((it: { lagEvents: number }) => it.lagEvents);
      return Bun.deepEquals(
        [own, lags],
        [Array(count).fill(PARTITIONS / count), Array(PARTITIONS).fill(0)],
      );
    }, `${count} nodes to run all partitions`);
  }

  /** Sends events with these ids, and one that is refused, as one request. */
  async function send(to: Server, writeKey: string, ids: readonly string[]): Promise<void> {
    const events = ids.map((messageId) => ({
      ...{ type: "track", event: "seen", userId: messageId.split(" ")[0], messageId },
    }));
    const { status } = await fetch(`${to.dataPlane}/v1/batch`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
      body: JSON.stringify({ batch: [...events, { type: "track", event: "without a user" }] }),
    });
    expect(status).toBe(200);
  }

  const arrived = () => sink.events.map(({ messageId }) => messageId as string).sort();

  test("to other nodes, while partitions move, is delivered once", async () => {
    const [first, second] = await Promise.all([startNode(), startNode()]);
    await isShared(first, 2);
    const { writeKey, sourceId } = await route(first, { url: sink.url });
    const settings = { dedupSeconds: 3_600 };
    expect((await first.api("PUT", `/v2/sources/${sourceId}`, { settings })).status).toBe(200);
    // An answer is given once the node has heard of all changes.
    await second.api("GET", "/v2/destinations");
    const sent: string[] = [];
    /** Sends the batch again, with an event of each user that was not sent before. */
    async function sendAgain(to: Server, name: string): Promise<void> {
      const others = users.map((user) => `${user} ${name}`);
      await send(to, writeKey, [...batch, ...others]);
      sent.push(...others);
      await waitFor(() => arrived().length >= batch.length + sent.length, `events of ${name}`);
      expect(arrived()).toEqual([...batch, ...sent].sort());
    }

    await sendAgain(first, "at first");
    await sendAgain(second, "to the other node");
    await isShared(second, 2);
    await stopNode(first);
    await isShared(second, 1);
    await sendAgain(second, "after the first node left");
    await isShared(second, 1);
    const third = await startNode();
    await isShared(second, 2);
    await sendAgain(third, "to a node that joined");
    await isShared(third, 2);
    await stopNode(second);
    await isShared(third, 1);
    await sendAgain(third, "at last");
    await isShared(third, 1);
    expect(arrived()).toEqual([...batch, ...sent].sort());

    const path = "/v2/events/search?limit=50";
    const found = (await third.api("GET", `${path}&messageId=user-0%20one`)).body.events;
    const outcomes = found.map(({ outcomes: [it] }: any) => it.outcome);
    expect(outcomes).toEqual([...Array(4).fill("repeated"), "settled"]);
    const refused = (await third.api("GET", `${path}&refused=true&sourceId=${sourceId}`)).body;
    expect(refused.events).toHaveLength(5);
  }, 600_000);
});
