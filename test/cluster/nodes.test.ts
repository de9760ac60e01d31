import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { encodeChangeSet, SHARED_FORMAT } from "../../src/store/ordered/change-set.ts";
import { describeWith } from "../counterpart.ts";
import {
  ADMIN_TOKEN,
  pixel,
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
import { settingsOf } from "./support.ts";

const users = Array.from({ length: 12 }, (_, n) => `user-${n}`);

describeWith(brokersMissing)("two nodes", () => {
  let brokers: Brokers;
  let nodes: Server[] = [];
  const directories: string[] = [];

  const flags = () => [
    ...["--cluster-kafka", brokers.addresses.join(","), "--cluster-replicas", "1"],
    ...["--cluster-partitions", "4"],
  ];
  const start = async () => {
    const directory = temporaryDirectory();
    directories.push(directory);
    return await startServer({ directory, flags: flags() });
  };

  beforeAll(async () => {
    brokers = await sharedBrokers(1);
    nodes = await Promise.all([start(), start()]);
  }, 600_000);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await brokers?.stop();
    for (const directory of directories) removeDirectory(directory);
  }, 600_000);

  /** Waits for an answer of a node. While brokers are slow, it is 503 or lacks a member. */
  const ask = (at: number, path: string, member: string) =>
    waitFor(async () => {
      const { body } = await nodes[at]!.api("GET", path);
      return body[member] && body;
    }, `node ${at} to tell ${member}`);
  const cluster = (at: number) => ask(at, "/v2/cluster", "nodes");
  const shared = (count: number, all = 4) =>
    waitFor(async () => {
      const { nodes: members, partitions } = await cluster(0);
      const ids = members.map(({ id }: { id: string }) => id);
      const run = partitions.filter(({ node }: { node: string }) => ids.includes(node));
      return members.length === count && run.length === all;
    }, `${all} partitions to be shared by ${count}`);

  /** A pixel of each user, at the nodes in turns. */
  async function send(writeKey: string, n: number, at: readonly Server[] = nodes): Promise<void> {
    for (const [index, userId] of users.entries()) {
      const query = { writeKey, userId, event: "Seen", "properties.n": String(n) };
      const node = at[(index + n) % at.length]!;
      // The other node may hear of a new source a moment after it was created.
      await waitFor(async () => {
        const { status } = await pixel(node, "track", query);
        expect([200, 401]).toContain(status);
        return status === 200 || undefined;
      }, "a node to know the source");
    }
  }

  /** Number of times that a node has started a partition. */
  const starts = () =>
    nodes.map((node) => node.errors().split("partition started").length).reduce((a, b) => a + b);

  /**
   * Expects `count` events of each user, numbered in order. A partition that was started again
   * after `startsBefore`, because its node was lost for a session, may have sent events twice.
   */
  async function expectInOrder(events: readonly any[], count: number, startsBefore: number) {
    const numbersOf = (user: string) =>
      events.filter(({ userId }) => userId === user).map(({ properties }) => properties.n);
    const isDone = () => users.every((user) => new Set(numbersOf(user)).size === count);
    await waitFor(isDone, `${count} events of each user`);
    const mayRepeat = starts() > startsBefore;
    for (const user of users) {
      const numbers = numbersOf(user);
      expect(mayRepeat ? [...new Set(numbers)] : numbers).toEqual([...Array(count).keys()]);
    }
  }

  test("have one first workspace, and share the partitions", async () => {
    await shared(2);
    const [one, other] = await Promise.all(
      [0, 1].map((at) => nodes[at]!.api("GET", "/v2/workspace")),
    );
    expect(one!.status).toBe(200);
    expect(one!.body.id).toBe(other!.body.id);
    const isEven = async () => {
      const { nodes: members, partitions } = await cluster(1);
      const counts = members.map((it: { partitions: number[] }) => it.partitions.length);
      const lags = partitions.map((it: { lagEvents: number }) => it.lagEvents);
      return Bun.deepEquals(
        [counts, lags],
        [
          [2, 2],
          [0, 0, 0, 0],
        ],
      );
    };
    await waitFor(isEven, "each node to have two partitions");
    await waitFor(async () => {
      const { status, body } = await nodes[1]!.api("GET", "/ready");
      const { message } = body.checks.cluster;
      return status === 200 && /^This node runs partitions \d, \d$/.test(message);
    }, "a node to be ready with two partitions");
  }, 600_000);

  test("each expose the metrics in docs/cluster.md", async () => {
    const page = await Bun.file(join(import.meta.dir, "../../docs/cluster.md")).text();
    const named = new Set(
      [...page.matchAll(/`(pixelmill_cluster_\w+)`/g)].map(([, name]) => name!),
    );
    expect([...named].sort()).toEqual([
      "pixelmill_cluster_clock_error_seconds",
      "pixelmill_cluster_partitions_stopped",
      "pixelmill_cluster_troubles",
    ]);
    const of = async (node: Server) => (await fetch(`${node.controlPlane}/metrics`)).text();
    for (const node of nodes) {
      const metrics = await waitFor(async () => {
        const told = await of(node);
        return /^pixelmill_cluster_partitions\{.*\} 2$/m.test(told) ? told : undefined;
      }, "the lanes of two partitions to run");
      for (const name of named) expect(metrics).toContain(`# TYPE ${name} gauge`);
      expect(metrics).toMatch(/^pixelmill_cluster_troubles\{.*\} 0$/m);
    }
  }, 600_000);

  test("deliver events that either node accepted, each user's events in order", async () => {
    const sink = startSink();
    const code = "export const transformEvent = (event) => ({ ...event, seen: true })";
    const { writeKey } = await route(nodes[0]!, { url: sink.url, code });
    // A node's lanes run what the node has heard of; an answer is given once it has heard all.
    await nodes[1]!.api("GET", "/v2/destinations");
    const startsBefore = starts();
    for (let n = 0; n < 20; n++) await send(writeKey, n);
    await expectInOrder(sink.events, 20, startsBefore);
    expect(sink.events.every(({ seen }) => seen)).toBe(true);
    sink.stop();
  }, 600_000);

  test("report the same lane status on either node, and name a node that does not answer", async () => {
    let isUp = false;
    const sink = startSink(() => (isUp ? 200 : 503));
    const { writeKey, destinationId } = await route(nodes[0]!, { url: sink.url });
    await nodes[1]!.api("GET", "/v2/destinations");
    await send(writeKey, 0);
    const path = `/v2/destinations/${destinationId}/history`;
    const told = async (at: number) => {
      const [overview, history] = await Promise.all([
        ask(at, "/v2/overview", "destinations"),
        ask(at, path, "minutes"),
      ]);
      const minutes: { delivered: number }[] = history.minutes;
      const { state, reason, lagEvents } = overview.destinations.find(
        ({ id }: { id: string }) => id === destinationId,
      );
      const delivered = minutes.reduce((sum, it) => sum + it.delivered, 0);
      return { isWell: state === "ok", reason, lagEvents, delivered };
    };
    const waits = { isWell: false, reason: "HTTP 503 from receiver" };
    const down = { ...waits, lagEvents: users.length, delivered: 0 };
    for (const at of [0, 1]) {
      await waitFor(async () => Bun.deepEquals(await told(at), down), `node ${at} to tell of both`);
    }
    isUp = true;
    const well = { isWell: true, reason: undefined, lagEvents: 0, delivered: users.length };
    for (const at of [0, 1]) {
      await waitFor(async () => Bun.deepEquals(await told(at), well), `node ${at} to tell of both`);
    }
    sink.stop();

    const { node } = await cluster(1);
    await waitFor(async () => {
      process.kill(nodes[1]!.pid, "SIGSTOP");
      const { body } = await nodes[0]!.api("GET", path);
      process.kill(nodes[1]!.pid, "SIGCONT");
      return Bun.deepEquals(body.missingNodes, [node]);
    }, "a node that hangs to be told as missing");
    await waitFor(async () => {
      return (await nodes[0]!.api("GET", path)).body.missingNodes === undefined;
    });
    await shared(2);
  }, 600_000);

  test("deliver events that arrive after the topic of the events was recreated", async () => {
    const sink = startSink();
    const { writeKey } = await route(nodes[0]!, { url: sink.url });
    await nodes[1]!.api("GET", "/v2/destinations");
    const arrived = (n: number) =>
      new Set(sink.events.filter((it) => it.properties.n === n).map((it) => it.userId));
    await send(writeKey, 0);
    await waitFor(() => arrived(0).size === users.length);
    const clients = await connectClients({ brokers: brokers.addresses });
    const admin = clients.admin();
    const name = "pixelmill.events";
    await admin.deleteTopics({ topics: [name] });
    while ((await admin.listTopics()).includes(name)) await Bun.sleep(20);
    await ensureTopic(admin, { name, partitions: 4, replicas: 1 });
    await clients.close();
    // Until a node knows of the new topic, it may refuse.
    const ask = (userId: string, at: number) =>
      pixel(nodes[at % 2]!, "track", { writeKey, userId, event: "Seen", "properties.n": "1" });
    for (const [at, userId] of users.entries()) {
      await waitFor(async () => (await ask(userId, at)).status === 200, "a pixel to be taken");
    }
    await waitFor(() => arrived(1).size === users.length, "all to arrive");
    const isTold = async () => {
      const all = await Promise.all(nodes.map((node) => node.api("GET", "/ready")));
      const warnings = all.flatMap(({ body }) => body.warnings as string[]);
      const isNamed = (it: number) =>
        warnings.some((text) => text.startsWith(`Partition ${it} of pixelmill.events: `));
      return [0, 1, 2, 3].every(isNamed);
    };
    await waitFor(isTold, "the loss of each partition to be told");
    await waitFor(async () => (await nodes[0]!.api("GET", "/ready")).status === 200);
    sink.stop();
  }, 600_000);

  test("answer the same dead letters, and replay those of the other", async () => {
    const sink = startSink();
    const code =
      "export const transformEvent = (event) => { if (event.event === 'Seen') throw new Error('no'); return event }";
    const { writeKey, transformationId, destinationId } = await route(nodes[1]!, {
      ...{ url: sink.url, code },
    });
    await send(writeKey, 0);
    const list = async (at: number) => {
      const path = `/v2/dead-letters?destinationId=${destinationId}`;
      return (await nodes[at]!.api("GET", path)).body.deadLetters as { id: string }[];
    };
    await waitFor(async () => (await list(0)).length === users.length);
    expect(await list(1)).toEqual(await list(0));
    const groups = await Promise.all(
      nodes.map((node) => node.api("GET", `/v2/dead-letter-groups?destinationId=${destinationId}`)),
    );
    expect(groups[0]!.body).toEqual({ ...groups[1]!.body, asOf: expect.any(String) });

    const mended = {
      name: "Test",
      language: "javascript",
      code: "export const transformEvent = (e) => e",
    };
    const published = await nodes[0]!.api(
      ...(["POST", `/transformations/${transformationId}?publish=true`] as const),
      mended,
    );
    expect(published.status).toBe(200);
    const ids = (await list(0)).map(({ id }) => id);
    const replayed = await nodes[1]!.api("POST", "/v2/dead-letters/replay", { ids });
    expect(replayed.body.replayed).toBe(users.length);
    await waitFor(() => sink.events.length >= users.length);
    expect(sink.events.map(({ userId }) => userId).sort()).toEqual([...users].sort());
    expect(await list(0)).toEqual([]);
    sink.stop();
  }, 600_000);

  test("replay the retained events of all partitions on request to either node, and cancel a replay", async () => {
    const sink = startSink();
    const { writeKey, sourceId, destinationId } = await route(nodes[0]!, { url: sink.url });
    for (let n = 0; n < 5; n++) await send(writeKey, n);
    await waitFor(() => sink.events.length >= 5 * users.length);
    sink.events.length = 0;
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const asked = { sourceId, destinationId, from };
    const replay = async (at: number, over = {}) =>
      (await nodes[at]!.api("POST", "/v2/replays", { ...asked, ...over })).body.replay.id as string;
    const get = async (at: number, id: string) =>
      (await nodes[at]!.api("GET", `/v2/replays/${id}`)).body.replay;
    const startsBefore = starts();
    const done = await replay(1);
    await waitFor(async () => (await get(0, done)).state === "done");
    expect((await get(1, done)).counts).toMatchObject({ done: 5 * users.length });
    await expectInOrder(sink.events, 5, startsBefore);
    const ended = await replay(0, { rate: 1 });
    await nodes[1]!.api("POST", `/v2/replays/${ended}/cancel`);
    await waitFor(async () => (await get(0, ended)).state === "cancelled");
    await replay(0);
    sink.stop();
  }, 600_000);

  test("show the events of both nodes in either one's live tail and recent events", async () => {
    const sink = startSink();
    const code = "export const transformEvent = (event) => ({ ...event, seen: true })";
    const { writeKey, sourceId } = await route(nodes[0]!, { url: sink.url, code });
    const looking = new AbortController();
    const tail = await fetch(`${nodes[0]!.controlPlane}/v2/events`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      signal: looking.signal,
    });
    expect(tail.status).toBe(200);
    let text = "";
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of tail.body!) text += decoder.decode(chunk, { stream: true });
    })().catch(() => {});
    const seen = (stage: string) =>
      new Set(
        [...text.matchAll(/^data: (\{.*\})$/gm)]
          .map(([, json]) => JSON.parse(json!))
          .filter((message) => message.stage === stage)
          .map(({ event }) => event.userId),
      );
    let n = 0;
    await waitFor(async () => {
      await send(writeKey, n++);
      return seen("received").size === users.length && seen("delivered").size === users.length;
    });
    looking.abort();
    await reading;
    const isDelivered = ({ outcomes: [outcome] }: { outcomes: Record<string, any>[] }) =>
      outcome?.outcome === "delivered" && outcome.event.seen;
    for (const { api } of nodes) {
      await waitFor(async () => {
        const { body } = await api("GET", `/v2/events/recent?sourceId=${sourceId}`);
        if (body.missingNodes) return false;
        const delivered = body.events.filter(isDelivered);
        return new Set(delivered.map((it: any) => it.received.userId)).size === users.length;
      }, "a node to list the recent events of both");
    }
    // No node has a source without destinations in memory, so its events come from the log.
    const { source } = (await nodes[0]!.api("POST", "/v2/sources", { name: "Unconnected" })).body;
    await send(source.writeKey, 0);
    for (const { api } of nodes) {
      await waitFor(async () => {
        const { body } = await api("GET", `/v2/events/recent?sourceId=${source.id}`);
        const found = new Set(body.events.map((it: any) => it.received.userId));
        expect(body.events.flatMap((it: any) => it.outcomes)).toEqual([]);
        return found.size === users.length;
      }, "a node to list the events of a source without destinations");
    }
    sink.stop();
  }, 600_000);

  test("hand partitions over when one of them stops, and take those that are added at its start", async () => {
    const sink = startSink();
    const { writeKey } = await route(nodes[0]!, { url: sink.url });
    expect(await nodes[1]!.stop()).toBe(0);
    const alone = startServer({ directory: directories[1]! });
    await expect(alone).rejects.toThrow(/Expected the setting cluster\.kafka/);
    await shared(1);
    await send(writeKey, 0, [nodes[0]!]);
    await waitFor(() => sink.events.length >= users.length);
    const more = flags().map((flag) => (flag === "4" ? "7" : flag));
    nodes[1] = await startServer({ directory: directories[1]!, flags: more });
    await shared(2, 7);
    for (let n = 1; n < 6; n++) await send(writeKey, n);
    await waitFor(() => sink.events.length >= 6 * users.length);
    const { partitions } = await cluster(0);
    expect(partitions.map((it: { partition: number }) => it.partition)).toEqual([
      ...Array(7).keys(),
    ]);
    sink.stop();
  }, 600_000);

  test("stop at records of a newer pixelmill, and do not start on them", async () => {
    const directory = temporaryDirectory();
    directories.push(directory);
    const options = { directory, flags: [...flags(), "--cluster-name", "upgraded"] };
    const node = await startServer(options);
    const clients = await connectClients(settingsOf(brokers));
    const producer = new IdempotentProducer({
      producer: clients.producer(),
      topic: "upgraded.catalog",
    });
    const set = { author: "newer", number: 0, base: 0, writes: [] };
    const [entry] = encodeChangeSet(set, SHARED_FORMAT + 1);
    await producer.send(0, () => Buffer.from(entry!));
    await clients.close();
    expect(await node.exited()).toBe(1);
    const refusal =
      /The catalog's log: expected entries of format 1 at most, got format 2 at \d+: a newer/;
    expect(node.errors()).toMatch(refusal);
    await expect(startServer(options)).rejects.toThrow(refusal);
  }, 600_000);
});
