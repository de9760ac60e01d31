import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lanesAreThrough, pixel, type Server, startServer, waitFor } from "../e2e/server.ts";
import { DATA, type Sink, type Trace } from "./record.ts";

/** Longest time to deliver the events of a crash state on a busy machine. */
const DRAIN_MS_MAX = 120_000;

export interface Judged {
  /** Whether no response had been sent before the state, so that there is nothing to check. */
  owesNothing: boolean;
  owedPixels: number;
  owedChanges: number;
  repeated: number;
  /** Log lines of the server at level warn or above. */
  warnings: string[];
  /** Violations in sentences; empty if there are none. */
  faults: string[];
}

/** Starts a server on a mounted state and checks that it has all acknowledged data. */
export async function judgeState(
  mountPoint: string,
  trace: Trace,
  position: number,
  sink: Sink,
): Promise<Judged> {
  const pixels = trace.pixels.filter(({ acknowledgedAt = Infinity }) => acknowledgedAt <= position);
  const changes = trace.changes.filter(({ at }) => at <= position);
  const judged: Judged = {
    ...{ owesNothing: false, owedPixels: pixels.length, owedChanges: changes.length, repeated: 0 },
    ...{ warnings: [], faults: [] },
  };
  if (pixels.length + changes.length === 0 && !existsSync(join(mountPoint, DATA))) {
    return { ...judged, owesNothing: true };
  }
  const taken = new Set(trace.deliveries.filter(({ at }) => at <= position).map(({ id }) => id));
  sink.onEvent = (id) => {
    if (taken.has(id)) judged.repeated += 1;
    taken.add(id);
  };
  let server: Server;
  try {
    server = await startServer({ directory: mountPoint, flags: ["--metrics-tenants", "true"] });
  } catch (error) {
    return { ...judged, faults: [`the server does not start: ${(error as Error).message}`] };
  }
  try {
    for (const { path, token } of changes) {
      if (!(await finds(server, path, token))) judged.faults.push(`${path} is lost`);
    }
    if (changes.length > 0) {
      const owed = pixels.map(({ id }) => id);
      judged.faults.push(...(await judgeEvents(server, mountPoint, trace, position, owed, taken)));
    }
  } finally {
    judged.warnings = server
      .errors()
      .split("\n")
      .filter((line) => /"level":"(warn|error|fatal)"/.test(line));
    await server.stop("SIGKILL");
  }
  return judged;
}

async function finds(server: Server, path: string, token?: string): Promise<boolean> {
  if (token === undefined) return (await server.api("GET", path)).status === 200;
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(server.controlPlane + path, { headers })).status !== 401;
}

/**
 * Checks the acknowledged pixels at both destinations (order, none invented), then sends a new
 * pixel.
 */
async function judgeEvents(
  server: Server,
  mountPoint: string,
  trace: Trace,
  position: number,
  owed: string[],
  taken: ReadonlySet<string>,
): Promise<string[]> {
  const faults: string[] = [];
  const connections = trace.changes.filter(({ path }) => path.startsWith("/v2/connections/"));
  const connected = connections.length === 2 && connections.every(({ at }) => at <= position);
  if (!connected) return faults;
  const path = join(mountPoint, trace.file);
  const lines = () =>
    existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
  const ids = () => lines().flatMap((line) => idOf(line) ?? []);
  const missing = () => {
    const filed = new Set(ids());
    return owed.filter((id) => !filed.has(id) || !taken.has(id));
  };
  // An event that is missing when both lanes are through never arrives.
  const settled = async () => missing().length === 0 || (await lanesAreThrough(server, 2));
  await waitFor(settled, "the lanes", DRAIN_MS_MAX).catch(() =>
    faults.push("the lanes do not get through"),
  );
  if (missing().length > 0) {
    faults.push(`${missing().length} pixels are lost, as ${missing().slice(0, 3)}`);
  }
  const torn = lines().filter((line) => idOf(line) === undefined);
  if (torn.length > 0) faults.push(`${torn.length} lines of the file are no events`);

  const sent = new Set(trace.pixels.map(({ id }) => id));
  const last = new Map<string, number>();
  for (const id of new Set(ids())) {
    if (!sent.has(id)) faults.push(`${id} was never sent`);
    const [user, number] = id.split(":");
    if ((last.get(user!) ?? -1) > Number(number)) faults.push(`${id} is out of order`);
    last.set(user!, Number(number));
  }
  const fresh = `fresh:${position}`;
  const query = {
    writeKey: trace.writeKey,
    userId: "fresh",
    event: "Fresh",
    "properties.id": fresh,
  };
  const { status } = await pixel(server, "track", query);
  if (status !== 200) faults.push(`a fresh pixel is answered ${status}`);
  await waitFor(() => taken.has(fresh) && ids().includes(fresh), "the pixel", DRAIN_MS_MAX).catch(
    () => {
      faults.push("a fresh pixel is not delivered");
    },
  );
  return faults;
}

function idOf(line: string): string | undefined {
  try {
    return JSON.parse(line).properties.id;
  } catch {
    return undefined;
  }
}
