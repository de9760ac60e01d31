import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { StartError } from "../../src/errors.ts";
import type { PixelRecord } from "../../src/event/record.ts";
import { RATE_BURST_SECONDS } from "../../src/settings/limits.ts";
import { testWith } from "../counterpart.ts";
import { metricValue } from "../log/support.ts";
import { mountDisk, mountMissing, unmountDisk } from "../small-disk.ts";
import {
  dataWithSource,
  ingestCommand,
  isAlive,
  keptConnection,
  load,
  openAsking,
  pixelUrl,
  recordsIn,
  startFileIngest,
  startIngest,
  until,
  usersOf,
} from "./ingest-support.ts";

test("an answered pixel can be read at once", async () => {
  const { data, writeKey } = await dataWithSource();
  await using ingest = await startIngest(data);
  let calls = 0;
  const stop = ingest.onDurable(() => calls++);
  for (let i = 0; i < 20; i++) {
    expect((await fetch(pixelUrl(ingest.url, writeKey, `u${i}`))).status).toBe(200);
    // No message has to arrive first: who saw the answer finds the record below the tail.
    expect(await ingest.ends()).toEqual({ "0": i + 1 });
    expect((await usersOf(ingest)).at(-1)).toBe(`u${i}`);
  }
  await until(() => calls > 0);
  stop();
  expect(ingest.health().trouble).toBeUndefined();
});

test("a killed ingest process loses no acknowledged event, and restarts", async () => {
  const { data, writeKey } = await dataWithSource();
  const metrics = new Registry();
  await using ingest = await startIngest(data, { metrics });
  const pixels = load(ingest.url, writeKey, 16);
  const kills = 2;
  for (let kill = 0; kill < kills; kill++) {
    const acknowledged = pixels.acknowledged.size;
    await until(() => pixels.acknowledged.size > acknowledged + 200);
    const [pid] = ingest.pids();
    process.kill(pid!, "SIGKILL");
    await until(() => ingest.health().trouble === undefined && ingest.pids()[0] !== pid);
  }
  const acknowledged = pixels.acknowledged.size;
  await until(() => pixels.acknowledged.size > acknowledged + 200);
  await pixels.stop();
  expect(pixels.failures()).toBeGreaterThan(0);
  const users = await usersOf(ingest);
  expect(new Set(users).size).toBe(users.length);
  expect([...pixels.acknowledged].filter((user) => !users.includes(user))).toEqual([]);
  expect(users.filter((user) => !pixels.sent.has(user))).toEqual([]);
  expect(await metricValue(metrics, "pixelmill_ingest_deaths_total")).toBe(kills);
}, 300_000);

test("a process that hangs is killed when the server closes", async () => {
  const { data } = await dataWithSource();
  const logged: string[] = [];
  const write = (line: string) => void logged.push(JSON.parse(line).msg);
  const ingest = await startIngest(data, { logger: pino({}, { write }) });
  const [pid] = ingest.pids();
  process.kill(pid!, "SIGSTOP");
  await ingest.close();
  expect(await isAlive(pid!)).toBe(false);
  // The watch would kill the process later.
  expect(logged).not.toContain("ingest process hangs and is killed");
}, 300_000);

test("a process that cannot be spawned for a while restarts later", async () => {
  const { data, writeKey } = await dataWithSource();
  const metrics = new Registry();
  const executable = join(data, "executable");
  symlinkSync(ingestCommand[0]!, executable);
  const command = [executable, ...ingestCommand.slice(1)];
  await using ingest = await startIngest(data, { command, metrics });
  rmSync(executable);
  const killedAt = performance.now();
  process.kill(ingest.pids()[0]!, "SIGKILL");
  const deaths = () => metricValue(metrics, "pixelmill_ingest_deaths_total");
  await until(async () => (await deaths()) >= 5);
  // Each attempt comes after twice the time of the one before.
  expect(performance.now() - killedAt).toBeGreaterThan(50 + 100 + 200 + 400);
  expect(ingest.health().trouble).toBeDefined();
  symlinkSync(ingestCommand[0]!, executable);
  await until(() => ingest.health().trouble === undefined);
  expect((await fetch(pixelUrl(ingest.url, writeKey, "after"))).status).toBe(200);
}, 300_000);

test("another process or the successor answers while a process is killed and restarts", async () => {
  const { data, writeKey } = await dataWithSource();
  for (const count of [1, 3]) {
    await using ingest = await startIngest(data, { count });
    let failures = 0;
    let answers = 0;
    let stopped = false;
    // Connections of one pixel each: only those that a process has taken can die with it.
    const clients = Array.from({ length: 8 }, async (_, client) => {
      for (let n = 0; !stopped; n++) {
        const connection = await openAsking(ingest.url);
        const status = await connection
          .ask(pixelUrl("", writeKey, `${client}.${n}`))
          .catch(() => 0);
        connection.close();
        if (status === 200) answers++;
        else failures++;
      }
    });
    await until(() => answers > 100);
    const pid = ingest.pids()[0]!;
    process.kill(pid, "SIGKILL");
    await until(() => ingest.health().trouble === undefined && ingest.pids()[0] !== pid);
    const before = answers;
    await until(() => answers > before + 100);
    // Which process takes a connection is the kernel's choice.
    const used = async () => Object.values(await ingest.ends()).filter((end) => end > 0).length;
    await until(async () => (await used()) >= Math.min(count, 2));
    stopped = true;
    await Promise.all(clients);
    expect(failures).toBeLessThanOrEqual(clients.length * count);
  }
}, 300_000);

test("pixels sent one after the other keep their order across processes", async () => {
  const { data, writeKey } = await dataWithSource();
  await using ingest = await startIngest(data, { count: 3 });
  const used = async () => Object.values(await ingest.ends()).filter((end) => end > 0).length;
  // Which process takes a connection is the kernel's choice.
  for (let n = 0; n < 200 || (await used()) < 2; n++) {
    const connection = await openAsking(ingest.url);
    expect(await connection.ask(pixelUrl("", writeKey, `${n}`))).toBe(200);
    connection.close();
  }
  const taken = new Map<string, PixelRecord[]>();
  for (const [log, reader] of ingest.readers) taken.set(log, await recordsIn(reader));
  const number = (record: PixelRecord) => {
    return Number(new URLSearchParams(record.query).get("anonymousId"));
  };
  for (const [log, records] of taken) {
    for (const record of records) {
      // Each knows all that were answered before it, and none that came later.
      const before = (record.after ?? []).map(({ log, sequence }) => {
        return taken.get(String(log))!.slice(0, sequence).length;
      });
      const own = records.indexOf(record);
      expect({ log, known: before.reduce((sum, it) => sum + it, own) }).toEqual({
        log,
        known: number(record),
      });
    }
  }
  expect([...taken.values()].filter((records) => records.length > 0).length).toBeGreaterThan(1);
}, 300_000);

test("two processes together admit no more pixels than the rate allows", async () => {
  const { data, writeKey } = await dataWithSource();
  const eventsPerSecondMax = 20;
  await using ingest = await startIngest(data, { count: 2, eventsPerSecondMax });
  const startedAt = performance.now();
  const askOnce = async () => {
    const connection = await openAsking(ingest.url);
    const status = await connection.ask(pixelUrl("", writeKey, "a"));
    connection.close();
    return status === 200;
  };
  const taken = await Promise.all(Array.from({ length: 400 }, askOnce));
  const seconds = RATE_BURST_SECONDS + (performance.now() - startedAt) / 1_000;
  expect(taken.filter(Boolean).length).toBeLessThanOrEqual(eventsPerSecondMax * seconds);
}, 300_000);

test("logs of processes that are not started any more stay readable", async () => {
  const { data, writeKey } = await dataWithSource();
  const before = await startIngest(data, { count: 2 });
  for (let i = 0; i < 50; i++) {
    // A connection each, so that both processes get some.
    const headers = { Connection: "close" };
    await fetch(pixelUrl(before.url, writeKey, `u${i}`), { headers });
  }
  const tails = await before.ends();
  await before.close();
  await using ingest = await startIngest(data);
  expect(await ingest.ends()).toEqual(tails);
  expect((await usersOf(ingest)).length).toBe(50);
  // Pixels admitted from now on come after the records of those logs.
  expect((await fetch(pixelUrl(ingest.url, writeKey, "later"))).status).toBe(200);
  const record = (await recordsIn(ingest.readers.get("0")!)).at(-1)!;
  expect(record.after).toEqual([{ log: 1, sequence: tails["1"]! }]);
});

test("sequence numbers that a lost log had, or that a lane knows, are not assigned again", async () => {
  const { data, writeKey } = await dataWithSource();
  const take = async (known = {}) => {
    await using ingest = await startIngest(data, { known });
    expect((await fetch(pixelUrl(ingest.url, writeKey, "a"))).status).toBe(200);
    return (await ingest.ends())["0"];
  };
  expect(await take()).toBe(1);
  const log = join(data, "events", "0");
  // The mark alone is left.
  for (const name of readdirSync(log)) if (name !== "durable") rmSync(join(log, name));
  expect(await take()).toBe(2);
  expect(await take({ 0: 100 })).toBe(101);
});

test("records of a single process note no ends of other logs", async () => {
  const { data, writeKey } = await dataWithSource();
  await using ingest = await startIngest(data);
  expect((await fetch(pixelUrl(ingest.url, writeKey, "a"))).status).toBe(200);
  expect((await recordsIn(ingest.readers.get("0")!))[0]!.after).toBeUndefined();
});

test("a low limit of descriptors bounds the connections and leaves room for pixels", async () => {
  const { data, writeKey } = await dataWithSource();
  const command = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", ...ingestCommand];
  await using ingest = await startIngest(data, { command });
  const { hostname, port } = new URL(ingest.url);
  const socket = { data() {}, error() {}, close() {} };
  const silent = await Promise.all(
    Array.from({ length: 400 }, () => Bun.connect({ hostname, port: Number(port), socket })),
  );
  for (let n = 0; n < 5; n++) {
    const answer = await fetch(pixelUrl(ingest.url, writeKey, `${n}`), { keepalive: false });
    expect(answer.status).toBe(200);
  }
  for (const connection of silent) connection.terminate();
}, 300_000);

test("Ctrl-C and SIGTERM to the process group interrupt no request", async () => {
  const { data, writeKey } = await dataWithSource();
  await using ingest = await startIngest(data);
  const [pid] = ingest.pids();
  const pixels = load(ingest.url, writeKey, 8);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const acknowledged = pixels.acknowledged.size;
    process.kill(pid!, signal);
    await until(() => pixels.acknowledged.size > acknowledged + 100);
  }
  await pixels.stop();
  expect(pixels.failures()).toBe(0);
  expect(ingest.pids()).toEqual([pid!]);
});

test("closing keeps every answered pixel and ends the process, with or without idle connections", async () => {
  const { data, writeKey } = await dataWithSource();
  const exitCode = join(data, "exit-code");
  const shell = ["sh", "-c", `"$@"; echo $? > ${exitCode}`, "sh"];
  let received = 0;
  const onReceived = (_: string, count: number) => {
    received += count;
  };
  const ingest = await startIngest(data, { command: [...shell, ...ingestCommand], onReceived });
  const [pid] = ingest.pids();
  const idle = await keptConnection(ingest.url);
  const pixels = load(ingest.url, writeKey, 16);
  await until(() => pixels.acknowledged.size > 200);
  await ingest.close();
  // The process ended by itself: the supervisor did not kill it.
  expect(readFileSync(exitCode, "utf8")).toBe("0\n");
  expect(await isAlive(pid!)).toBe(false);
  idle.end();
  await pixels.stop();
  await using again = await startIngest(data);
  const users = new Set(await usersOf(again));
  expect([...pixels.acknowledged].filter((user) => !users.has(user))).toEqual([]);
  // Each stored event is reported once, the last ones when the process ends.
  expect(received).toBe(users.size);
});

test("ingest processes end soon after their server was killed", async () => {
  const { data, writeKey } = await dataWithSource();
  const command = [process.execPath, join(import.meta.dir, "ingest-server.ts"), data, "2"];
  const server = Bun.spawn(command, { stdio: ["ignore", "pipe", "inherit"] });
  const reader = server.stdout.getReader();
  const { value } = await reader.read();
  const { url, pids } = JSON.parse(new TextDecoder().decode(value));
  const pixels = load(url, writeKey, 8);
  await until(() => pixels.acknowledged.size > 100);
  server.kill("SIGKILL");
  for (const pid of pids) await until(async () => !(await isAlive(pid)));
  await pixels.stop();
  await using again = await startIngest(data);
  const users = new Set(await usersOf(again));
  expect([...pixels.acknowledged].filter((user) => !users.has(user))).toEqual([]);
}, 300_000);

test("a port in use stops the start with one sentence", async () => {
  const { data } = await dataWithSource();
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  for (const count of [1, 2]) {
    const options = { count, port: taken.port };
    const error = await startFileIngest(data, options).catch((error) => error);
    expect(error).toBeInstanceOf(StartError);
    expect(error.message).toStartWith(`Cannot listen on 127.0.0.1 port ${taken.port}: `);
  }
  taken.stop();
  await using ingest = await startIngest(data, { port: taken.port });
  expect(ingest.url).toBe(`http://127.0.0.1:${taken.port}`);
});

test("a process that ends before it listens stops the start", async () => {
  const { data } = await dataWithSource();
  const command = [process.execPath, "-e", "process.exit(3)"];
  const error = await startFileIngest(data, { command }).catch((it) => it);
  expect(error).toBeInstanceOf(StartError);
  expect(error.message).toBe("An ingest process ended before it listened");
});

test("a process that cannot be spawned stops the start with one sentence", async () => {
  const { data } = await dataWithSource();
  const command = [join(data, "nothing-here")];
  const error = await startFileIngest(data, { command }).catch((it) => it);
  expect(error).toBeInstanceOf(StartError);
  expect(error.message).toStartWith("Cannot start an ingest process: ");
});

test("metrics carry the name of the process that they come from", async () => {
  const { data, writeKey } = await dataWithSource();
  await using ingest = await startIngest(data, { count: 2 });
  for (let i = 0; i < 10; i++) await fetch(pixelUrl(ingest.url, writeKey, `u${i}`));
  // A process that has no time to tell its metrics is left out.
  let all = await ingest.metrics();
  while (all.some((metrics) => metrics.length === 0)) all = await ingest.metrics();
  expect(all.length).toBe(2);
  const records = all.map(
    (metrics) => metrics.find(({ name }) => name === "pixelmill_log_appended_records_total")!,
  );
  expect(records.map(({ values }) => values[0]!.labels.process)).toEqual(["ingest-0", "ingest-1"]);
  expect(records.reduce((sum, { values }) => sum + values[0]!.value, 0)).toBe(10);
});

testWith(mountMissing)(
  "a full disk answers 503 and is not healthy, and recovers without a restart",
  async () => {
    const { data, writeKey } = await dataWithSource();
    const directory = join(data, "events");
    mkdirSync(directory);
    mountDisk(directory, 8 << 20);
    try {
      await using ingest = await startIngest(data);
      const [pid] = ingest.pids();
      const send = async (user: string) =>
        (await fetch(pixelUrl(ingest.url, writeKey, user))).status;
      expect(await send("before")).toBe(200);
      const ballast = join(directory, "ballast");
      expect(() => writeFileSync(ballast, Buffer.alloc(9 << 20))).toThrow();
      let failed = 0;
      await until(async () => {
        const status = await send("x".repeat(8000));
        expect([200, 503]).toContain(status);
        if (status === 503) failed++;
        return failed > 5;
      });
      await until(() => ingest.health().trouble !== undefined);
      const log = join(directory, "0");
      expect(ingest.health().trouble).toContain(`the disk of ${log} is full (`);
      rmSync(ballast);
      await until(() => ingest.health().trouble === undefined);
      expect(await send("after")).toBe(200);
      expect(ingest.pids()).toEqual([pid!]);
      const users = await usersOf(ingest);
      expect([users[0], users.at(-1)]).toEqual(["before", "after"]);
    } finally {
      unmountDisk(directory);
    }
  },
  300_000,
);
