import { expect, test } from "bun:test";
import {
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { isQuickTier } from "../tier.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

const MAGIC = Buffer.from([0xf5, 0x50, 0x58, 0xff]);

/** Accidents of a stopped server's event log. `older` is a copy of the log from its start. */
const accidents: Record<string, (events: string, older: string) => void> = {
  "has a flipped bit in its last block"(events) {
    const path = newestSegment(events);
    const bytes = readFileSync(path);
    bytes[bytes.lastIndexOf(MAGIC) + 60]! ^= 1;
    writeFileSync(path, bytes);
  },
  "is cut"(events) {
    const path = newestSegment(events);
    truncateSync(path, statSync(path).size - 4096);
  },
  "is gone"(events) {
    rmSync(events, { recursive: true });
  },
  "is an older copy"(events, older) {
    rmSync(events, { recursive: true });
    cpSync(older, events, { recursive: true });
  },
};

// The quick tier runs the mildest and the worst.
const names = Object.keys(accidents);
test.concurrent.each(isQuickTier ? [names[0]!, names.at(-1)!] : names)(
  "a log that %s assigns no sequence number twice: new pixels are delivered, and the loss is reported",
  async (accident) => {
    const directory = temporaryDirectory();
    const sink = startSink();
    const events = join(directory, "data", "events");
    const older = join(directory, "older");

    let server = await startServer({ directory });
    const { writeKey } = await route(server, { url: sink.url });
    await send(server, writeKey, 0, 20);
    await waitFor(() => sink.events.length === 20);
    cpSync(events, older, { recursive: true });
    for (let block = 20; block < 60; block += 10) await send(server, writeKey, block, 10);
    await waitFor(() => sink.events.length === 60);
    await server.stop();
    accidents[accident]!(events, older);

    server = await startServer({ directory });
    await send(server, writeKey, 60, 30);
    const delivered = () => new Set(sink.events.map((event) => Number(event.properties.n)));
    const missing = () => numbers(60, 30).filter((n) => !delivered().has(n));
    await waitFor(() => missing().length === 0, "the fresh pixels").catch(() => {});
    expect(missing()).toEqual([]);
    const ready = await server.api("GET", "/ready");
    expect(ready.body.warnings.join()).toMatch(/^Event log 0: \d+ records are missing/);
    expect(server.errors()).toContain("records are missing from the event log");
    const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
    expect(metrics).toMatch(/pixelmill_log_missing_records_total\S* [1-9]/);
    expect(await server.stop()).toBe(0);
    sink.stop();
    removeDirectory(directory);
  },
  300_000,
);

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

async function send(server: Server, writeKey: string, from: number, count: number) {
  const pixels = numbers(from, count).map((n) =>
    pixel(server, "track", { writeKey, userId: "u", event: "E", "properties.n": String(n) }),
  );
  for (const { status } of await Promise.all(pixels)) expect(status).toBe(200);
}

function newestSegment(events: string): string {
  const log = join(events, "0");
  const names = readdirSync(log).filter((name) => name.endsWith(".segment"));
  return join(log, names.sort().at(-1)!);
}
