import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { openCatalog } from "../../src/catalog/open.ts";
import { decodeRecord, type PixelRecord } from "../../src/event/record.ts";
import { type FileLogsOptions, openFileLogs } from "../../src/ingest/log/file-logs.ts";
import {
  type IngestOptions,
  startIngestProcesses,
} from "../../src/ingest/supervisor/supervisor.ts";
import type { EventLogs, LogReader } from "../../src/log/event-log.ts";
import { pixelmillCommand } from "../e2e/command.ts";

export { until } from "../until.ts";

export const quiet = pino({ level: "silent" });

/** Starts an ingest process, as the server does. Under the runner it is the executable's. */
export const ingestCommand = [...pixelmillCommand, "ingest"];

export type Options = Partial<Omit<IngestOptions, "logs">>;
type FileOptions = Options & Pick<FileLogsOptions, "known">;

export function ingestOptions(data: string, options: Options = {}): Omit<IngestOptions, "logs"> {
  return {
    command: ingestCommand,
    count: 1,
    catalogDirectory: join(data, "catalog"),
    host: "127.0.0.1",
    port: 0,
    trustedProxies: [],
    recordClientAddress: true,
    eventsPerSecondMax: 0,
    connectionsPerNetworkMax: 0,
    logLevel: "fatal",
    logger: quiet,
    ...options,
  };
}

/** A data directory with one source, and its write key. */
export async function dataWithSource(): Promise<{ data: string; writeKey: string }> {
  const data = mkdtempSync(join(tmpdir(), "pixelmill-ingest-"));
  afterAll(() => rmSync(data, { recursive: true, force: true }));
  const catalog = await openCatalog({ directory: join(data, "catalog"), logger: quiet });
  const workspace = await catalog.workspaces.create("Test");
  const { writeKey } = await catalog.sources.create(workspace.id, { name: "Site" });
  await catalog.close();
  return { data, writeKey };
}

/** Opens the logs of a data directory, and starts the processes that write them. */
export async function startFileIngest(data: string, given: FileOptions = {}) {
  const options = { ...given, ...ingestOptions(data, given) };
  const logs = await openFileLogs({ ...options, directory: join(data, "events") });
  try {
    const ingest = await startIngestProcesses({ ...options, logs });
    const close = () => ingest.stop().then(() => logs.close());
    return { ...ingest, ...logs, close };
  } catch (error) {
    await logs.close();
    throw error;
  }
}

/** Starts ingest processes that end with the test. */
export async function startIngest(data: string, options: FileOptions = {}) {
  const ingest = await startFileIngest(data, options);
  return Object.assign(ingest, { [Symbol.asyncDispose]: () => ingest.close() });
}

export function pixelUrl(url: string, writeKey: string, user: string): string {
  return `${url}/pixel/v1/page?writeKey=${writeKey}&anonymousId=${user}`;
}

/** The `anonymousId` of every record, from all logs. */
export async function usersOf(ingest: Pick<EventLogs, "readers">): Promise<string[]> {
  const users: string[] = [];
  for (const reader of ingest.readers.values()) users.push(...(await usersIn(reader)));
  return users;
}

export async function usersIn(reader: LogReader, from = reader.first()): Promise<string[]> {
  const records = await recordsIn(reader, from);
  return records.map(({ query }) => new URLSearchParams(query).get("anonymousId")!);
}

export async function recordsIn(reader: LogReader, from = reader.first()): Promise<PixelRecord[]> {
  const all: PixelRecord[] = [];
  for (let position = from; position < reader.end(); ) {
    const { records, next } = await reader.read(position, 1 << 20);
    all.push(...records.map(({ bytes }) => decodeRecord(bytes) as PixelRecord));
    position = next;
  }
  return all;
}

/** Whether a process exists and is not a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  const status = Bun.file(`/proc/${pid}/status`);
  if (!(await status.exists())) return false;
  const text = await status.text().catch(() => "State:\tZ");
  return !/^State:\s+[ZX]/m.test(text);
}

/**
 * Clients that send one pixel after the other, each over a connection that it keeps, until they
 * are stopped; keeps what was answered 200. Unlike `fetch` they never send a pixel twice.
 */
export function load(url: string, writeKey: string, clients: number) {
  const acknowledged = new Set<string>();
  const sent = new Set<string>();
  let failures = 0;
  let stopped = false;
  const runs = Array.from({ length: clients }, async (_, client) => {
    let connection: Asking | undefined;
    for (let n = 0; !stopped; n++) {
      const user = `${client}.${n}`;
      try {
        connection ??= await openAsking(url);
        sent.add(user);
        if ((await connection.ask(pixelUrl("", writeKey, user))) !== 200)
          throw new Error("Refused");
        acknowledged.add(user);
      } catch {
        failures++;
        connection = undefined;
        await Bun.sleep(5);
      }
    }
    connection?.close();
  });
  return {
    acknowledged,
    sent,
    failures: () => failures,
    async stop() {
      stopped = true;
      await Promise.all(runs);
    },
  };
}

/** A connection that asks for one thing after the other; rejects when it has ended. */
export interface Asking {
  ask(target: string): Promise<number>;
  close(): void;
}

export async function openAsking(url: string): Promise<Asking> {
  const { hostname, port } = new URL(url);
  let answer = Promise.withResolvers<number>();
  answer.promise.catch(() => {});
  const gone = () => answer.reject(new Error("The connection has ended"));
  const connection = await Bun.connect({
    ...{ hostname, port: Number(port) },
    socket: {
      // Answers are shorter than a packet.
      data: (_, chunk) => answer.resolve(Number(chunk.toString("latin1", 9, 12))),
      ...{ close: gone, error: gone, end: gone },
    },
  });
  return {
    ask(target) {
      answer = Promise.withResolvers();
      if (connection.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`) <= 0) gone();
      return answer.promise;
    },
    close: () => connection.end(),
  };
}

/** A connection that has had one answer, and has begun another request that it never ends. */
export async function keptConnection(url: string) {
  const { hostname, port } = new URL(url);
  const answered = Promise.withResolvers<void>();
  const socket = { data: () => answered.resolve() };
  const connection = await Bun.connect({ hostname, port: Number(port), socket });
  connection.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await answered.promise;
  connection.write("GET /hea");
  return connection;
}
