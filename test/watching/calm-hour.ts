/**
 * An hour without trouble: a server takes pixels and batches of an SDK, runs JavaScript and Python,
 * delivers to webhooks and a file, gets a revision every few seconds, makes backups, and restarts
 * every ten minutes; one receiver answers 503 for a few seconds each minute. It is scraped as
 * Prometheus would do it, and no alert rule may fire on the scrapes.
 *
 *   npm run calm-hour [MINUTES] [EVENTS_PER_SECOND]     exits with 1 when an alert fires
 *   bun test/watching/calm-hour.ts FILE                 judges the scrapes of an earlier run again
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
} from "../e2e/server.ts";
import { good } from "../egress/tls.ts";
import { freePorts } from "../free-ports.ts";
import { judge, printedRules } from "./rules.ts";
import { type Scrape, scrape } from "./scrapes.ts";

const SCRAPE_SECONDS = 15;
const RESTART_SECONDS = 600;
const BACKUP_SECONDS = 300;
const PUBLISH_MS = 5_000;
/** The receiver fails in the first milliseconds of each minute. */
const FAILS_MS = 5_000;
const MINUTE_MS = 60_000;
const EVENTS_A_BATCH = 10;

const javascript = (revision: number) =>
  `export const transformEvent = (event) => ({ ...event, revision: ${revision} });`;
const python = "def transformEvent(event, metadata):\n    event['seen'] = True\n    return event\n";

/** Starts the server of the hour on the same ports again. */
async function starter(directory: string): Promise<() => Promise<Server>> {
  const at = (name: string) => join(directory, name);
  writeFileSync(at("certificate.pem"), good.cert);
  writeFileSync(at("key.pem"), good.key);
  const [port, adminPort] = await freePorts(2);
  const flags = [
    ...["--port", String(port), "--admin-port", String(adminPort), "--log-level", "warn"],
    ...["--tls-certificate", at("certificate.pem"), "--tls-key", at("key.pem")],
    ...["--backup-every", String(BACKUP_SECONDS), "--backup-keep", "2"],
    ...["--backup-directory", at("backups")],
  ];
  return () => startServer({ directory, flags });
}

async function addPython(server: Server, url: string): Promise<string> {
  const { writeKey, destinationId } = await route(server, { url });
  const body = { name: "Python", language: "pythonfaas", code: python };
  const { status } = await server.api("POST", "/transformations?publish=true", {
    ...body,
    destinationIds: [destinationId],
  });
  if (status !== 200 && status !== 201) throw new Error(`The Python code was answered ${status}`);
  return writeKey;
}

/** Runs the hour; returns the scrapes. */
async function calmHour(minutes: number, perSecond: number): Promise<Scrape[]> {
  const directory = temporaryDirectory();
  const start = await starter(directory);
  const sink = startSink(() => (Date.now() % MINUTE_MS < FAILS_MS ? 503 : 200));
  let server = await start();
  const coded = await route(server, { url: sink.url, code: javascript(0) });
  const writeKeys = [coded.writeKey, await addPython(server, sink.url)];
  const scrapes: Scrape[] = [];
  const counts: Record<string, number> = {};
  let on = true;
  let restarting = Promise.resolve();

  const every = async (ms: number, act: () => Promise<unknown>) => {
    for (let next = performance.now() + ms; on; next += ms) {
      await Bun.sleep(Math.max(0, next - performance.now()));
      await act().catch(() => {});
    }
  };
  const send = async (path: string, init: RequestInit) => {
    await restarting;
    const tls = { rejectUnauthorized: false };
    const { status } = await fetch(server.dataPlane + path, { ...init, tls } as RequestInit);
    counts[status] = (counts[status] ?? 0) + 1;
  };
  let sent = 0;
  const sendPixel = () => {
    const query = { writeKey: writeKeys[sent++ % 2]!, userId: `u${sent % 50}`, event: "Calm" };
    return send(`/pixel/v1/track?${new URLSearchParams(query)}`, {});
  };
  const sendBatch = () => {
    const event = { type: "track", event: "Calm", userId: `u${sent % 50}` };
    const body = JSON.stringify({ batch: Array.from({ length: EVENTS_A_BATCH }, () => event) });
    const authorization = `Basic ${btoa(`${coded.writeKey}:`)}`;
    return send("/v1/batch", { method: "POST", body, headers: { authorization } });
  };
  let revision = 0;
  const publish = async () => {
    await restarting;
    const code = javascript(++revision);
    await server.api("POST", `/transformations/${coded.transformationId}?publish=true`, { code });
  };
  const restart = () => {
    restarting = (async () => {
      await server.stop();
      server = await start();
    })();
    return restarting;
  };
  const look = async () => {
    scrapes.push(await scrape(server.controlPlane));
  };
  const half = 2_000 / perSecond;
  const work = [
    every(half, sendPixel),
    every(half * EVENTS_A_BATCH, sendBatch),
    every(PUBLISH_MS, publish),
    every(1_000 * RESTART_SECONDS, restart),
    every(1_000 * SCRAPE_SECONDS, look),
  ];
  await Bun.sleep(minutes * MINUTE_MS);
  on = false;
  await Promise.race([Promise.all(work), Bun.sleep(1_000 * SCRAPE_SECONDS)]);
  await restarting;
  const delivered = sink.events.length;
  process.stdout.write(`${JSON.stringify({ answers: counts, revision, delivered })}\n`);
  await server.stop();
  sink.stop();
  removeDirectory(directory);
  return scrapes;
}

const replacer = (_: string, value: unknown) =>
  value instanceof Map ? Object.fromEntries(value) : value;

function readScrapes(path: string): Scrape[] {
  const scrapes = JSON.parse(readFileSync(path, "utf8")) as { at: number; values?: object }[];
  return scrapes.map(({ at, values }) => ({
    at,
    values: values && new Map(Object.entries(values)),
  }));
}

const [first = "60", perSecond = "40"] = process.argv.slice(2);
const isFile = Number.isNaN(Number(first));
const scrapes = isFile ? readScrapes(first) : await calmHour(Number(first), Number(perSecond));
if (!isFile) {
  const path = join(temporaryDirectory(), "scrapes.json");
  writeFileSync(path, JSON.stringify(scrapes, replacer));
  process.stdout.write(`${scrapes.length} scrapes: ${path}\n`);
}
const wrong = judge(scrapes, { intervalSeconds: SCRAPE_SECONDS, rules: printedRules() });
process.stdout.write(wrong === "" ? "no alert fired\n" : `FIRED\n${wrong}\n`);
process.exit(wrong === "" ? 0 : 1);
