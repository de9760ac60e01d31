import { startApi } from "../test/api/_setup.ts";
import { report, round2 } from "./report.ts";

/**
 * Measures the configuration of a workspace with 1,000 sources and 3,000 destinations for
 * rudder-server, over HTTP: when nothing has changed, and after a change of one destination, of one
 * source and of one link. The bounds are 1 ms unchanged, 50 ms of CPU for a change, and 20 ms for
 * which the event loop stands still. All figures contain the client, which reads the whole body and
 * does not inflate it.
 */
const SOURCES = 1_000;
const DESTINATIONS = 3_000;
const ROUNDS = 60;
const AT_ONCE = 250;

type Sample = { cpuMs: number; wallMs: number; stallMs: number; bytes: number };

async function main(): Promise<void> {
  const api = await startApi();
  try {
    const { catalog, workspaceId } = api;
    const token = await api.tokenWith(["workspace-config:read"]);
    const authorization = `Basic ${btoa(`${token}:`)}`;
    const sources = await inBatches(SOURCES, (index) =>
      catalog.sources.create(workspaceId, { name: `Source ${index}` }),
    );
    const destinations = await inBatches(DESTINATIONS, (index) =>
      catalog.destinations.create(workspaceId, {
        name: `Destination ${index}`,
        type: "WEBHOOK",
        deliveredBy: "rudder-server",
        config: { webhookUrl: `https://hooks.test/${index}`, webhookMethod: "POST", headers: [] },
      }),
    );
    await inBatches(DESTINATIONS, (index) => {
      const [sourceId, destinationId] = [sources[index % SOURCES]!.id, destinations[index]!.id];
      return catalog.connections.create(workspaceId, { sourceId, destinationId }, {});
    });
    const body = { name: "T", language: "javascript", code: "export function transformEvent() {}" };
    const { body: code } = await api.send("POST", "/transformations?publish=true", { body });

    const ask = async (more: Record<string, string> = {}) => {
      const headers = { authorization, "accept-encoding": "identity", ...more };
      const url = `${api.url}/workspaceConfig?fetchAll=true`;
      const answer = await fetch(url, { headers, decompress: false });
      const { byteLength } = await answer.arrayBuffer();
      return { bytes: byteLength, etag: answer.headers.get("etag") ?? "" };
    };
    const floor = async () => {
      const answer = await fetch(`${api.url}/v2/session`, { headers: { authorization } });
      return { bytes: (await answer.arrayBuffer()).byteLength };
    };
    const first = await measured(() => ask());
    const floors: Sample[] = [];
    for (let round = 0; round < ROUNDS; round++) floors.push(await measured(floor));
    let { etag } = await ask();
    const changes: Record<string, (index: number) => Promise<unknown>> = {
      "unchanged, 304": async () => {},
      "unchanged, gzip": async () => {},
      "unchanged, identity": async () => {},
      "destination changed": (index) =>
        catalog.destinations.update(
          workspaceId,
          destinations[index]!.id,
          { name: `N ${index}` },
          {},
        ),
      "source changed": (index) =>
        catalog.sources.update(workspaceId, sources[index]!.id, { name: `N ${index}` }),
      "link changed": (index) => catalog.code.link(workspaceId, code.id, destinations[index]!.id),
    };
    const rows = [rowOf("GET /v2/session, a floor", floors), rowOf("first after a start", [first])];
    for (const [name, change] of Object.entries(changes)) {
      const samples: Sample[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        await change(round);
        samples.push(await measured(() => ask(headersOf(name, etag))));
        etag = (await ask()).etag;
      }
      rows.push(rowOf(name, samples));
    }
    await report("workspace-config", rows);
  } finally {
    await api.stop();
  }
}

/** rudder-server's client takes gzip, and sends no entity tag. */
function headersOf(name: string, etag: string): Record<string, string> {
  if (name.endsWith("304")) return { "if-none-match": etag };
  return name.endsWith("identity") ? {} : { "accept-encoding": "gzip" };
}

/**
 * Returns the CPU of server and client, the time, and the most CPU between two turns of a timer:
 * other processes of the machine make that time longer, and not that CPU.
 */
async function measured(run: () => Promise<{ bytes: number }>): Promise<Sample> {
  Bun.gc(true);
  let last = cpuMsNow();
  let stallMs = 0;
  const tick = () => {
    const now = cpuMsNow();
    stallMs = Math.max(stallMs, now - last);
    last = now;
  };
  const timer = setInterval(tick, 1);
  const cpuBefore = cpuMsNow();
  const startedAt = performance.now();
  const { bytes } = await run();
  const wallMs = performance.now() - startedAt;
  tick();
  clearInterval(timer);
  return { cpuMs: cpuMsNow() - cpuBefore, wallMs, stallMs, bytes };
}

function cpuMsNow(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function rowOf(name: string, samples: readonly Sample[]) {
  const sorted = (of: (sample: Sample) => number) => samples.map(of).sort((a, b) => a - b);
  const at = (of: (sample: Sample) => number, share: number) =>
    round2(sorted(of)[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? 0);
  return {
    case: name,
    bytes: samples.at(-1)?.bytes ?? 0,
    "CPU ms, median": at(({ cpuMs }) => cpuMs, 0.5),
    "CPU ms, p95": at(({ cpuMs }) => cpuMs, 0.95),
    "ms, median": at(({ wallMs }) => wallMs, 0.5),
    "stall, CPU ms, median": at(({ stallMs }) => stallMs, 0.5),
    "stall, CPU ms, p95": at(({ stallMs }) => stallMs, 0.95),
  };
}

async function inBatches<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) {
    const size = Math.min(AT_ONCE, count - made.length);
    const batch = Array.from({ length: size }, (_, index) => make(made.length + index));
    made.push(...(await Promise.all(batch)));
  }
  return made;
}

await main();
