import { expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { type EventRecord, eventRecordCodec } from "../../src/event/record.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { RepetitionRow } from "../../src/pipeline/ledger/repetition-table.ts";
import { describeWith } from "../counterpart.ts";
import { pixelmillCommand, runPixelmill } from "../e2e/command.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { runs } from "../tier.ts";
import { brokersMissing } from "./brokers.ts";
import { sharedBrokers } from "./shared-brokers.ts";

const users = Array.from({ length: 7 }, (_, n) => `user-${n}`);
/** Number of users whose repeated events are noted in the ledger of a stopped server. */
const NOTED = 3;

async function command(...args: string[]): Promise<string> {
  const { code, output, errors } = await runPixelmill(["cluster", ...args]);
  if (code !== 0) throw new Error(errors);
  return output.trim();
}

/** An event of each user as an SDK sends it. */
const sdkEvents = (n: number) =>
  users.map((userId) => {
    const messageId = `${n} of ${userId}`;
    return { type: "track", messageId, userId, event: "Seen", properties: { n } };
  });

/** Sends an SDK's events twice, each time with one that is refused. */
async function sendTwice(to: Server, writeKey: string, n: number): Promise<void> {
  for (const _ of [1, 2]) {
    const { status } = await fetch(`${to.dataPlane}/v1/batch`, {
      method: "POST",
      body: JSON.stringify({ writeKey, batch: [...sdkEvents(n), { event: "without a user" }] }),
    });
    expect(status).toBe(200);
  }
}

/**
 * Appends an SDK's events twice to the log `0` of a stopped server, each time with one that is
 * refused. The repeated events of the first users are noted as such, and no lane knows it yet.
 */
async function appendTwice(data: string, sourceId: string, n: number): Promise<void> {
  const logger = pino({ level: "silent" });
  const directory = join(data, "events/0");
  const log = await openLogWriter({ directory, codec: eventRecordCodec, logger });
  const recordOf = (event: object) => ({
    ...{ format: "json", type: "track", receivedAt: Date.now(), sourceId, clientAddress: "" },
    ...{ messageId: undefined, sentAt: undefined, json: Buffer.from(JSON.stringify(event)) },
  });
  for (const _ of [1, 2]) {
    const refused = { ...recordOf({}), refused: "Expected an id" };
    await log.appendAll([...sdkEvents(n).map(recordOf), refused] as EventRecord[]);
  }
  const again = log.durable() - users.length - 1;
  await log.close();
  const ledger = openLedger(join(data, "delivery"), logger);
  const rows = users.slice(0, NOTED).map((_, at): RepetitionRow => {
    return [again + at, "0", again + at - users.length - 1, Date.now()];
  });
  await ledger.repetitions.put([{ log: "0", rows }], [], ledger.repetitions.positions());
  await ledger.close();
}

/** Number of events that a server has found to be sent again. */
async function repeatedEvents(server: Server): Promise<number> {
  const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
  return Number(/^pixelmill_repeated_events_total(?:\{.*\})? (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

/** Kills the command after a while; answers whether it had ended before. */
async function cutOff(ms: number, ...args: string[]): Promise<boolean> {
  const child = Bun.spawn([...pixelmillCommand, "cluster", ...args], { stdout: "ignore" });
  const killing = setTimeout(() => child.kill("SIGKILL"), ms);
  await child.exited;
  clearTimeout(killing);
  return child.exitCode === 0;
}

describeWith(brokersMissing)("from one machine to several", () => {
  test("a backup moves from a cluster back to one machine, with undelivered events and dead letters", async () => {
    const brokers = await sharedBrokers(1);
    const [alone, node, back] = [temporaryDirectory(), temporaryDirectory(), temporaryDirectory()];
    const cluster = [
      ...["--cluster-kafka", brokers.addresses.join(","), "--cluster-replicas", "1"],
      ...["--cluster-partitions", "3"],
    ];
    const data = (directory: string) => ["--data", `${directory}/data`];

    // One destination has some and refuses the rest for now; code gives up others.
    let open = false;
    const slow = startSink(({ properties }) => (open || properties.n < 2 ? 200 : 503));
    const code = `export function transformEvent(event) {
      if (event.properties?.n === 1) throw new Error("one");
      return event;
    }`;
    const quick = startSink();
    let server: Server = await startServer({
      directory: alone,
      flags: ["--ingest-processes", "2"],
    });
    const { writeKey, destinationId } = await route(server, { url: slow.url });
    const other = await route(server, { url: quick.url, code });
    const sources = await server.api("GET", "/v2/sources");
    const first = sources.body.sources.find((it: any) => it.writeKey === writeKey);
    const joined = { sourceId: first.id, destinationId: other.destinationId };
    expect((await server.api("POST", "/v2/connections", joined)).status).toBe(201);
    const send = async (to: Server, n: number) => {
      for (const userId of users) {
        const query = { writeKey, userId, event: "Seen", "properties.n": String(n) };
        expect((await pixel(to, "track", query)).status).toBe(200);
      }
    };
    const settings = { dedupSeconds: 3_600 };
    expect((await server.api("PUT", `/v2/sources/${first.id}`, { settings })).status).toBe(200);
    for (let n = 0; n < 6; n++) await send(server, n);
    await sendTwice(server, writeKey, 20);
    await waitFor(() => quick.events.length === 6 * users.length, "the quick sink");
    await waitFor(async () => (await repeatedEvents(server)) === users.length, "repeated events");
    await waitFor(() => slow.events.length === 2 * users.length, "the slow sink");
    const letters = async (of: Server) =>
      (await of.api("GET", "/v2/dead-letters")).body.deadLetters as { id: string }[];
    await waitFor(async () => (await letters(server)).length === users.length, "dead letters");
    const given = (await letters(server)).map(({ id }) => id);
    const whole = (await server.api("GET", "/v2/destinations")).body;
    await expect(command("import", ...data(alone), ...cluster)).rejects.toThrow(/only server/);
    expect(await server.stop()).toBe(0);
    const asNode = startServer({ directory: alone, flags: cluster });
    await expect(asNode).rejects.toThrow(/Expected the data directory of a node/);
    await appendTwice(`${alone}/data`, first.id, 10);

    // The server has not found the other repeated events.
    const owed = 7 * users.length - NOTED;
    let isDone = false;
    for (const ms of [1_200, 2_000, 2_800].slice(0, runs(1, 3))) {
      isDone ||= await cutOff(ms, "import", ...data(alone), ...cluster);
    }
    const imported = `imported workspaces: 1, undelivered events: ${owed}, dead letters: ${users.length}`;
    if (!isDone) expect(await command("import", ...data(alone), ...cluster)).toBe(imported);
    // An import that is cut off after its last change has not moved the data aside.
    for (const name of ["catalog", "events", "delivery"])
      renameSync(`${alone}/data/before-cluster/${name}`, `${alone}/data/${name}`);
    expect(await command("import", ...data(alone), ...cluster)).toBe(imported);
    await expect(command("import", ...data(alone), ...cluster)).rejects.toThrow(
      /Expected the data of a server/,
    );
    server = await startServer({ directory: node, flags: cluster });
    expect((await server.api("GET", "/v2/destinations")).body).toEqual(whole);
    expect((await letters(server)).map(({ id }) => id)).toEqual(given);
    await send(server, 6);
    await waitFor(() => quick.events.length >= 8 * users.length, "the quick sink of the node");
    const found = users.length - NOTED;
    await waitFor(async () => (await repeatedEvents(server)) === found, "repeated events");
    const attempted = async () => {
      const history = await server.api("GET", `/v2/destinations/${destinationId}/history`);
      return history.body.minutes.some(({ retried }: { retried: number }) => retried > 0);
    };
    await waitFor(attempted, "an attempt that fails");
    await expect(command("export", ...data(back), ...cluster)).rejects.toThrow(/no node to run/);
    expect(await server.stop()).toBe(0);

    expect(await command("export", ...data(back), ...cluster)).toBe(
      `exported workspaces: 1, undelivered events: ${7 * users.length}, dead letters: ${users.length}`,
    );
    open = true;
    server = await startServer({ directory: back });
    await waitFor(() => slow.events.length >= 9 * users.length, "the slow sink of the last server");
    for (const user of users) {
      const own = slow.events.filter(({ userId }) => userId === user);
      expect(own.map((event) => event.properties.n)).toEqual([0, 1, 2, 3, 4, 5, 20, 10, 6]);
    }
    expect(quick.events).toHaveLength(8 * users.length);
    expect((await letters(server)).map(({ id }) => id)).toEqual(given);
    await server.stop();
    slow.stop();
    quick.stop();
    await brokers.stop();
    for (const directory of [alone, node, back]) removeDirectory(directory);
  }, 900_000);
});
