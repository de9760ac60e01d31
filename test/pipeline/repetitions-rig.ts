import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { eventOf } from "../../src/event/event.ts";
import {
  decodeRecord,
  type EventRecord,
  eventRecordCodec,
  type LogEnd,
  timeOfRecord,
} from "../../src/event/record.ts";
import { type Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { LaneRecord } from "../../src/pipeline/model/lane-record.ts";
import { createRoutes } from "../../src/pipeline/model/routes.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { type LogSet, SharedReader } from "../../src/pipeline/reading/shared-reader.ts";
import { Repetitions, type RepetitionsParts } from "../../src/pipeline/repetitions/repetitions.ts";
import { FakeLive, laneMetrics, MemoryLog } from "./doubles.ts";

export const logger = pino({ level: "silent" });

/** Encodes the event `n` of an SDK. Without `messageId`, the server made its id. */
export function sdkRecord(
  n: number,
  messageId: string | undefined,
  over: { at?: number; sourceId?: string; after?: LogEnd[]; refused?: string } = {},
): Buffer {
  const { at = 1_000_000 + n, sourceId = "source", after, refused } = over;
  const record: EventRecord = {
    ...{
      format: "json",
      type: "track",
      receivedAt: at,
      sourceId,
      clientAddress: "",
      after,
      refused,
    },
    messageId: messageId === undefined ? crypto.getRandomValues(new Uint8Array(16)) : undefined,
    sentAt: undefined,
    json: Buffer.from(JSON.stringify({ event: "seen", anonymousId: "ann", n, messageId })),
  };
  const buffer = Buffer.alloc(eventRecordCodec.bytesMax(record));
  return buffer.subarray(0, eventRecordCodec.encode(record, buffer, 0));
}

/** A lane that reads logs with a search for repetitions, and can be restarted. */
export class RepetitionsRig {
  readonly live = new FakeLive();
  readonly logs: MemoryLog[];
  readonly directory = mkdtempSync(join(tmpdir(), "pixelmill-repetitions-"));
  readonly repeated: string[] = [];
  now = 1_000_000;
  ledger: Ledger;
  repetitions!: Repetitions;
  logSet!: LogSet;
  lane!: LaneReader;
  readonly #over: Partial<RepetitionsParts>;

  constructor(logs = 1, over: Partial<RepetitionsParts> = {}) {
    this.logs = Array.from({ length: logs }, (_, n) => new MemoryLog(String(n)));
    this.#over = over;
    this.setWindow(60);
    this.live.putDestination("one");
    this.live.connect("one", {}, { id: "connection" });
    this.ledger = openLedger(join(this.directory, "delivery"), logger);
    this.start();
  }

  setWindow(dedupSeconds: number, sourceId = "source"): void {
    this.live.addSource(sourceId);
    this.live.sources.get(sourceId)!.settings = { dedupSeconds };
  }

  get readers() {
    return new Map(this.logs.map((log, n) => [String(n), log]));
  }

  /** Starts with what the ledger has, and with a lane at `record`. */
  start(record?: LaneRecord): void {
    const { live, ledger, readers } = this;
    this.repetitions = new Repetitions({
      ...{ readers, live, timeOf: timeOfRecord, clock: { now: () => this.now } },
      ledger: { repetitions: ledger.repetitions, lanes: () => (record ? [record] : []) },
      budget: { countMax: 1e6, allocated: 0 },
      onRepeated: (sourceId) => void this.repeated.push(sourceId),
      ...this.#over,
    });
    const parts = { readers, decode: decodeRecord, eventOf, logger, metrics: laneMetrics() };
    this.logSet = new SharedReader(parts).subset(readers, this.repetitions);
    this.lane = this.laneAt(record);
  }

  laneAt(record?: LaneRecord): LaneReader {
    const [lane] = this.live.lanes();
    return new LaneReader(this.logSet, createRoutes(lane!.destination, lane!.connections), record);
  }

  /** Ends of the other logs now, as the record of an event has them. */
  after(log: number): LogEnd[] {
    const ends = this.logs.map((it, n) => ({ log: n, sequence: it.end() }));
    return ends.filter((end) => end.log !== log);
  }

  /** Takes up to `count` events, and settles them. */
  async take(count: number, lane = this.lane): Promise<number[]> {
    const events = await lane.take(count, 1e9);
    for (const { origin } of events) {
      if ("log" in origin) lane.settle(origin.log, origin.sequence);
    }
    return events.map(({ input }) => JSON.parse(Buffer.from(input.event.json).toString()).n);
  }

  /** Takes all events. */
  async drain(lane = this.lane): Promise<number[]> {
    const taken: number[] = [];
    for (;;) {
      const lot = await this.take(100, lane);
      if (lot.length === 0) return taken;
      taken.push(...lot);
    }
  }

  async end(): Promise<void> {
    await this.ledger.close();
    rmSync(this.directory, { recursive: true });
  }
}
