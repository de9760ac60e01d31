/**
 * Measures the time from publishing to live traffic: while pixels arrive at a steady rate,
 * publishes new revisions, and times each from the API's response until its first delivery. Then
 * measures the event rate of one program while its workspace publishes more and more others.
 *
 *   bun bench/publish.ts [--rounds 60] [--programs 1000] [--command dist/pixelmill]
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  pixel,
  removeDirectory,
  route,
  startServer,
  startSink,
  waitFor,
} from "../test/e2e/server.ts";
import { report, round2 } from "./report.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "60" },
    programs: { type: "string", default: "1000" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});
const server = await startServer({ command: [resolve(values.command)] });
const seen = new Map<number, number>();
const sink = startSink((event) => {
  if (!seen.has(event.revision)) seen.set(event.revision, performance.now());
  return 200;
});
const codeOf = (revision: number) =>
  `export const transformEvent = (event) => ({ ...event, revision: ${revision} });`;
const ids = await route(server, { url: sink.url, code: codeOf(0) });

async function publish(revision: number): Promise<void> {
  const path = `/transformations/${ids.transformationId}?publish=true`;
  const { status } = await server.api("POST", path, { code: codeOf(revision) });
  if (status !== 200) throw new Error(`publish answered ${status}`);
}

/** Milliseconds from the response to each publication until its first delivery. */
async function publicationTimes(): Promise<number[]> {
  let streaming = true;
  const stream = (async () => {
    for (let user = 0; streaming; user++) {
      await pixel(server, "page", { writeKey: ids.writeKey, userId: `u${user % 50}` });
    }
  })();
  const times: number[] = [];
  for (let revision = 1; revision <= Number(values.rounds); revision++) {
    await publish(revision);
    const answeredAt = performance.now();
    const deliveredAt = await waitFor(() => seen.get(revision));
    times.push(Math.max(0, deliveredAt - answeredAt));
  }
  streaming = false;
  await stream;
  return times.sort((a, b) => a - b);
}

/** Measures events per second through the program, from the first pixel to the last delivery. */
async function rate(events: number): Promise<number> {
  const before = sink.events.length;
  const startedAt = performance.now();
  const send = async (worker: number) => {
    for (let n = worker; n < events; n += 32) {
      await pixel(server, "page", { writeKey: ids.writeKey, userId: `u${n % 97}` });
    }
  };
  await Promise.all(Array.from({ length: 32 }, (_, worker) => send(worker)));
  await waitFor(() => sink.events.length >= before + events);
  return events / ((performance.now() - startedAt) / 1_000);
}

const times = await publicationTimes();
const at = (share: number) => round2(times[Math.floor(share * (times.length - 1))]!);
await report("publish", [
  { publications: times.length, "p50 ms": at(0.5), "p90 ms": at(0.9), "p99 ms": at(0.99) },
]);

const most = Number(values.programs);
const rows: Record<string, number>[] = [];
let published = 1;
await rate(20_000);
for (const count of [1, 10, 100, 1_000].filter((step) => step <= most)) {
  for (; published < count; published++) {
    const body = { name: `Other ${published}`, language: "javascript", code: codeOf(-published) };
    await server.api("POST", "/transformations?publish=true", body);
  }
  const rates = [await rate(4_000), await rate(4_000), await rate(4_000)].sort((a, b) => a - b);
  rows.push({ "published transformations": count, "events per second": Math.round(rates[1]!) });
}
await report(
  "publish-growth",
  rows.map((row) => ({
    ...row,
    "ratio to one": round2(row["events per second"]! / rows[0]!["events per second"]!),
  })),
);
await server.stop();
sink.stop();
removeDirectory(server.directory);
