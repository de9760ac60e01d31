import { pino } from "pino";
import { Registry } from "prom-client";
import type { Live, LiveProgram } from "../../src/catalog/live.ts";
import type { Connection, Destination, Source } from "../../src/catalog/model.ts";
import type { EventRecord, PixelRecord } from "../../src/event/record.ts";
import type { DurableRange, LogReader } from "../../src/log/event-log.ts";
import type { Positions } from "../../src/log/positions.ts";
import type { LaneChange, Ledger } from "../../src/pipeline/ledger/ledger.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import type { BuiltEvent } from "../../src/pipeline/model/input-event.ts";
import { createLaneEvent, type LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import { createLaneMetrics, type LaneMetrics } from "../../src/pipeline/monitoring/metrics.ts";
import { type LogSet, SharedReader } from "../../src/pipeline/reading/shared-reader.ts";
import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import {
  type EventMetadata,
  type LogLine,
  type LogSink,
  ownMetadataKeys,
  type Program,
  type ProgramBatch,
  type ProgramOutcome,
} from "../../src/sandbox/program.ts";

/** An event log in memory, its records durable as soon as they are appended. */
export class MemoryLog implements LogReader {
  readonly #records = new Map<number, Uint8Array>();
  readonly #listeners = new Set<(news?: DurableRange) => void>();
  #first = 0;
  /** Number of calls of `end`: a lane that reads calls it. */
  endCalls = 0;
  #end = 0;

  constructor(readonly name = "0") {}

  append(...records: PixelRecord[]): void {
    for (const record of records) this.#records.set(this.#end++, encodeRecord(record));
    const sources = [...new Set(records.map(({ sourceId }) => sourceId))];
    this.#tell({ log: this.name, end: this.#end, sources });
  }

  appendBytes(...records: Uint8Array[]): void {
    this.appendUnread(records);
  }

  /** Appends records, and announces them as of these sources, or of any. */
  appendUnread(records: readonly Uint8Array[], sources?: readonly string[]): void {
    for (const bytes of records) this.#records.set(this.#end++, bytes);
    this.#tell(sources && { log: this.name, end: this.#end, sources });
  }

  #tell(news?: DurableRange): void {
    for (const listener of this.#listeners) listener(news);
  }

  readonly onDurable = (listener: (news?: DurableRange) => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  first = () => this.#first;
  end = () => {
    this.endCalls += 1;
    return this.#end;
  };
  advance(): void {}

  async read(sequence: number, bytesMax: number) {
    const records: { sequence: number; bytes: Uint8Array }[] = [];
    let bytes = 0;
    let next = sequence;
    for (; next < this.#end && bytes < bytesMax && records.length < 500; next++) {
      const record = this.#records.get(next)!;
      bytes += record.length;
      records.push({ sequence: next, bytes: record });
    }
    return { records, next };
  }

  async trim(sequence: number): Promise<void> {
    for (; this.#first < sequence; this.#first++) this.#records.delete(this.#first);
  }

  countBetween(from: number, to: number): number {
    return Math.max(0, to - from);
  }

  parts() {
    return [...this.#records].map(([first, { length }]) => ({ first, bytes: length }));
  }

  async close(): Promise<void> {}
}

export function encodeRecord(record: PixelRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ ...record, messageId: [...record.messageId] }));
}

export function decode(bytes: Uint8Array): PixelRecord {
  const record = JSON.parse(Buffer.from(bytes).toString());
  return { ...record, messageId: Uint8Array.from(record.messageId) };
}

/** Records carry their user and number in the query: `u=ann&n=7`. */
export function record(n: number, user = "ann", over: Partial<PixelRecord> = {}): PixelRecord {
  return {
    type: "track",
    receivedAt: Date.now(),
    sourceId: "source",
    clientAddress: "",
    messageId: crypto.getRandomValues(new Uint8Array(16)),
    query: `u=${user}&n=${n}`,
    ...over,
  };
}

/** Metrics of lanes, for tests that do not read them. */
export function laneMetrics(): LaneMetrics {
  return createLaneMetrics(new Registry(), {
    lanes: () => [],
    deadLetters: () => [],
    heldBytes: () => 0,
    heldLogs: () => [],
  });
}

/** Reads this log, or several by their names, for lanes. */
export function feedOf(log: LogReader | Map<string, LogReader>, build = eventOf): LogSet {
  const logger = pino({ level: "silent" });
  const readers = log instanceof Map ? log : new Map([["0", log]]);
  const parts = { readers, decode, eventOf: build, logger, metrics: laneMetrics() };
  return new SharedReader(parts).subset(readers);
}

export function eventOf(record: EventRecord): BuiltEvent {
  const { query, type } = record as PixelRecord;
  const values = new URLSearchParams(query);
  const user = values.get("u") ?? "";
  const event = { type, event: "seen", anonymousId: user, n: Number(values.get("n")) };
  const json = Buffer.from(JSON.stringify(event));
  return { json, user, userId: "", anonymousId: user, name: "seen" };
}

/** User code as a function over one parsed event. */
export type Code = (event: { n: number; anonymousId: string }, metadata: Metadata) => unknown;
type Metadata = Record<string, string>;

/** Runs the function that a program's code names; what it returns counts as it does in a guest. */
export class FakeSandbox implements Sandbox {
  readonly codes = new Map<string, Code>();
  readonly batches: { programId: string; events: number }[] = [];
  /** When set, every run rejects with it. */
  failure: Error | undefined;
  /** Events of a batch that have an outcome; the others are to be run again. */
  outcomesMax = Number.POSITIVE_INFINITY;
  /** Promises that the next runs wait for, one each. */
  readonly held: Promise<void>[] = [];

  /** Lines of `log(...)` that each batch writes. */
  logs: LogLine[] = [];

  async run(
    program: Program,
    { events, metadata }: ProgramBatch,
    logs?: LogSink,
  ): Promise<ProgramOutcome[]> {
    await Promise.resolve();
    if (this.failure !== undefined) throw this.failure;
    this.batches.push({ programId: program.id, events: events.length });
    await this.held.shift();
    const lines = this.logs.slice(0, logs?.lines);
    if (lines.length > 0) logs?.take(lines);
    const code = this.codes.get(program.code);
    if (code === undefined) throw new Error("Unknown code");
    return events.slice(0, this.outcomesMax).map((event, index) => {
      try {
        const made = code(parse(event), metadataValues(metadata[index]!));
        const all = made === null ? [] : Array.isArray(made) ? made : [made];
        return { events: all.map((one) => Buffer.from(JSON.stringify(one))) };
      } catch (error) {
        return { error: { message: String(error), line: 3, column: 7 } };
      }
    });
  }

  check = unsupported;
  checkAll = unsupported;
  inspect = unsupported;
  checkLibrary = unsupported;
  async close(): Promise<void> {}
}

function unsupported(): never {
  throw new Error("Not part of this test");
}

/** Returns the values that `metadata(event)` has in user code. */
export function metadataValues({ shared, own }: EventMetadata): Metadata {
  const values: unknown[] = JSON.parse(`[${own}]`);
  return {
    ...JSON.parse(shared.toString()),
    ...Object.fromEntries(values.map((one, n) => [ownMetadataKeys[n], one])),
  };
}

function parse(bytes: Uint8Array): { n: number; anonymousId: string } {
  return JSON.parse(Buffer.from(bytes).toString());
}

/** The catalog's live view over plain maps. */
export class FakeLive implements Live {
  readonly sources = new Map<string, Source>();
  readonly destinations = new Map<string, Destination>();
  readonly connections = new Map<string, Connection>();
  readonly programs = new Map<string, LiveProgram>();
  #topology = 1;
  /** Topology → destinations that changed with it. */
  readonly #changes = new Map<number, string[]>();

  topology = () => this.#topology;
  source = (writeKey: string) => [...this.sources.values()].find((s) => s.writeKey === writeKey);
  sourceById = (id: string) => this.sources.get(id);
  longestDedupSeconds = () =>
    Math.max(0, ...[...this.sources.values()].map((it) => it.settings?.dedupSeconds ?? 0));
  destination = (id: string) => this.destinations.get(id);
  program = (destinationId: string) => this.programs.get(destinationId);
  credentials = () => ({});

  changedSince(topology: number): ReadonlySet<string> | undefined {
    const changes = Array.from({ length: this.#topology - topology }, (_, n) =>
      this.#changes.get(topology + 1 + n),
    );
    return changes.includes(undefined) ? undefined : new Set(changes.flat() as string[]);
  }

  lane(destinationId: string) {
    const destination = this.destinations.get(destinationId);
    const connections = [...this.connections.values()].filter(
      (connection) => connection.destinationId === destinationId,
    );
    return destination && connections.length > 0 ? { destination, connections } : undefined;
  }

  lanes() {
    return [...this.destinations.values()].flatMap((destination) => {
      const connections = [...this.connections.values()].filter(
        (connection) => connection.destinationId === destination.id,
      );
      return connections.length === 0 ? [] : [{ destination, connections }];
    });
  }

  addSource(id = "source", workspaceId = "workspace"): void {
    this.sources.set(id, {
      ...{ id, workspaceId, name: `Source ${id}`, type: "http", writeKey: `key-${id}` },
      ...{ enabled: true, config: {}, ...times },
    });
    this.#changed();
  }

  putDestination(id: string, over: Partial<Destination> = {}): void {
    const before = this.destinations.get(id);
    this.destinations.set(id, {
      ...{ id, workspaceId: "workspace", name: `To ${id}`, type: "webhook", enabled: true },
      ...{ config: {}, ...times, ...before, ...over },
    });
    this.#changed(id);
  }

  connect(destinationId: string, from: Positions = {}, over: Partial<Connection> = {}): string {
    const id = over.id ?? `connection-${this.connections.size}-${this.#topology}`;
    this.connections.set(id, {
      ...{ id, workspaceId: "workspace", sourceId: "source", destinationId },
      ...{ enabled: true, from, ...times, ...over },
    });
    this.#changed(destinationId);
    return id;
  }

  change(connectionId: string, over: Partial<Connection>): void {
    this.connections.set(connectionId, { ...this.connections.get(connectionId)!, ...over });
    this.#changed(this.connections.get(connectionId)!.destinationId);
  }

  /** Live again from these positions on. */
  reopen(connectionId: string, from: Positions): void {
    const { until, ...rest } = this.connections.get(connectionId)!;
    this.connections.set(connectionId, { ...rest, from });
    this.#changed(this.connections.get(connectionId)!.destinationId);
  }

  remove(destinationId: string): void {
    this.destinations.delete(destinationId);
    for (const [id, { destinationId: of }] of this.connections) {
      if (of === destinationId) this.connections.delete(id);
    }
    this.#changed(destinationId);
  }

  disconnect(connectionId: string): void {
    const ended = this.connections.get(connectionId);
    this.connections.delete(connectionId);
    if (ended !== undefined) this.#changed(ended.destinationId);
  }

  #changed(...destinationIds: string[]): void {
    this.#topology += 1;
    this.#changes.set(this.#topology, destinationIds);
  }

  /** Links code to a destination; `version` names the revision. */
  publish(destinationId: string, code: string, version: string): void {
    this.programs.set(destinationId, {
      id: version,
      workspaceId: "workspace",
      transformation: {
        ...{ kind: "transformation", id: "transformation", versionId: version },
        ...{ workspaceId: "workspace", name: "Code", description: "", code },
        ...{ language: "javascript", createdAt: 0 },
      },
      libraries: [],
      credentials: {},
    });
  }
}

const times = { createdAt: 0, updatedAt: 0 };

/** An event of a lane, without outputs yet. */
export function laneEvent(over: Partial<LaneEvent> = {}): LaneEvent {
  const event = { json: Buffer.from("{}"), user: "u", userId: "u", anonymousId: "" };
  const input = { messageId: "m", sourceId: "source", receivedAt: 0, type: "track", event };
  const origin = { log: "0", sequence: 0, connectionId: "c" };
  return { ...createLaneEvent({ input, origin, retryWindowStart: 0, bytes: 0 }), ...over };
}

/** Throws a broken invariant, where a test expects none. */
export function fail(error: unknown): never {
  throw error;
}

/** Has a ledger write one change; rejects when an invariant is broken. */
export function commitChange(ledger: Ledger, change: LaneChange): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  ledger.schedule({ collect: () => change, committed: () => resolve(), fail: reject });
  return promise;
}

/** Has a ledger write dead letters, those of each destination with its own cursor. */
export async function commitLetters(ledger: Ledger, letters: readonly NewLetter[]): Promise<void> {
  const record = { logs: {}, known: {} };
  const lanes = Map.groupBy(letters, ({ destinationId }) => destinationId);
  const changes = [...lanes].map(([destinationId, deadLetters]) => {
    return { destinationId, record, deadLetters, settledRequeued: [] };
  });
  await Promise.all(changes.map((change) => commitChange(ledger, change)));
}
