import { expect, test } from "bun:test";
import { pino } from "pino";
import { eventRecordCodec } from "../../src/event/record.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import { describeWith } from "../counterpart.ts";
import { pixelmillCommand } from "../e2e/command.ts";
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

async function command(...args: string[]): Promise<string> {
  const child = Bun.spawn([...pixelmillCommand, "cluster", ...args], {
    ...{ stdout: "pipe", stderr: "pipe" },
  });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(errors);
  return output.trim();
}

/** Appends an event of each user, as an SDK sends it, to the log of a stopped server. */
async function appendSdkEvents(directory: string, sourceId: string, n: number): Promise<void> {
  const logger = pino({ level: "silent" });
  const log = await openLogWriter({ directory, codec: eventRecordCodec, logger });
  for (const userId of users) {
    const event = { messageId: `own-${userId}`, userId, event: "Seen", properties: { n } };
    await log.append({
      ...{ format: "json", type: "track", receivedAt: Date.now(), sourceId, clientAddress: "" },
      ...{ messageId: undefined, sentAt: undefined, json: Buffer.from(JSON.stringify(event)) },
    });
  }
  await log.close();
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
    for (let n = 0; n < 6; n++) await send(server, n);
    await waitFor(() => quick.events.length === 5 * users.length, "the quick sink");
    await waitFor(() => slow.events.length === 2 * users.length, "the slow sink");
    const letters = async (of: Server) =>
      (await of.api("GET", "/v2/dead-letters")).body.deadLetters as { id: string }[];
    await waitFor(async () => (await letters(server)).length === users.length, "dead letters");
    const given = (await letters(server)).map(({ id }) => id);
    const whole = (await server.api("GET", "/v2/destinations")).body;
    await expect(command("import", ...data(alone), ...cluster)).rejects.toThrow(/only server/);
    expect(await server.stop()).toBe(0);
    await appendSdkEvents(`${alone}/data/events/0`, first.id, 10);

    const owed = 5 * users.length;
    let isDone = false;
    for (const ms of [1_200, 2_000, 2_800].slice(0, runs(1, 3))) {
      isDone ||= await cutOff(ms, "import", ...data(alone), ...cluster);
    }
    if (!isDone) {
      expect(await command("import", ...data(alone), ...cluster)).toBe(
        `imported workspaces: 1, undelivered events: ${owed}, dead letters: ${users.length}`,
      );
    }
    await expect(command("import", ...data(alone), ...cluster)).rejects.toThrow(
      /Expected the data of a server/,
    );
    server = await startServer({ directory: node, flags: cluster });
    expect((await server.api("GET", "/v2/destinations")).body).toEqual(whole);
    expect((await letters(server)).map(({ id }) => id)).toEqual(given);
    await send(server, 6);
    await waitFor(() => quick.events.length === 7 * users.length, "the quick sink of the node");
    const attempted = async () => {
      const history = await server.api("GET", `/v2/destinations/${destinationId}/history`);
      return history.body.minutes.some(({ retried }: { retried: number }) => retried > 0);
    };
    await waitFor(attempted, "an attempt that fails");
    await expect(command("export", ...data(back), ...cluster)).rejects.toThrow(/no node to run/);
    expect(await server.stop()).toBe(0);

    expect(await command("export", ...data(back), ...cluster)).toBe(
      `exported workspaces: 1, undelivered events: ${owed + users.length}, dead letters: ${users.length}`,
    );
    open = true;
    server = await startServer({ directory: back });
    await waitFor(() => slow.events.length >= 8 * users.length, "the slow sink of the last server");
    for (const user of users) {
      const own = slow.events.filter(({ userId }) => userId === user);
      expect(own.map((event) => event.properties.n)).toEqual([0, 1, 2, 3, 4, 5, 10, 6]);
    }
    expect(quick.events).toHaveLength(7 * users.length);
    expect((await letters(server)).map(({ id }) => id)).toEqual(given);
    await server.stop();
    slow.stop();
    quick.stop();
    await brokers.stop();
    for (const directory of [alone, node, back]) removeDirectory(directory);
  }, 900_000);
});
