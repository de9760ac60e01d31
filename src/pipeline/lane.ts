import type { Live, LiveProgram } from "../catalog/catalog.ts";
import type { Connection, Destination } from "../catalog/model.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import {
  LANE_WINDOW_BYTES_MAX,
  LANE_WINDOW_EVENTS_MAX,
  RETRY_DELAY_MS_MIN,
  TRANSFORM_BATCH_EVENTS_MAX,
} from "../limits.ts";
import type { Logger } from "../observe/log.ts";
import type { Outcome, Sandbox } from "../sandbox/program.ts";
import { Bell, type Clock } from "./clock.ts";
import type { Feed } from "./feed.ts";
import { Intake } from "./intake.ts";
import { type Ending, type Item, type Output, outputOf } from "./item.ts";
import type { Committer, LaneChange, LaneRecord, Ledger } from "./ledger.ts";
import { inputOfLetter, letterOf } from "./letters.ts";
import type { LaneMetrics } from "./metrics.ts";
import { Outlet } from "./outlet.ts";
import { Partition, type PartitionHost } from "./partition.ts";
import { type Routes, routesOf, type Standing, standing } from "./router.ts";
import { jsonOf, type LiveTap } from "./tap.ts";
import { type Transformed, type TransformHost, transform } from "./transform.ts";

/** What all lanes share. */
export interface LaneParts {
  feed: Feed;
  live: Live;
  sandbox: Sandbox;
  ledger: Ledger;
  tap: LiveTap;
  clock: Clock;
  logger: Logger;
  metrics: LaneMetrics;
  retryWindowMs: number;
  /** Sees changed destinations and connections before the next poll would. */
  refresh(): void;
}

/** Everything on its way to one destination: read, transformed, delivered, settled, committed. */
export class Lane implements Committer {
  readonly #parts: LaneParts;
  readonly #partitions: Partition[];
  readonly #outlet: Outlet;
  readonly #intake: Intake;
  #routes: Routes;
  /** Items that are taken and whose settling is not on disk yet. */
  readonly #window = new Set<Item>();
  #windowBytes = 0;
  readonly #settled: Item[] = [];
  readonly #committing = new Map<LaneChange, { items: Item[]; lows: Map<string, number> }>();
  readonly #replaying = new Set<string>();
  #replaysWait = true;
  /** Something to do, or room for it. */
  readonly #work = new Bell();
  /** Settings changed, or the lane ends. */
  readonly #changed = new Bell();
  #running = true;
  #removed = false;
  #waitsForSandbox = false;
  readonly #ended: Promise<void>;
  readonly #labels: { destination: string; kind: string };
  readonly #transformHost: TransformHost;

  constructor(
    parts: LaneParts,
    kind: DestinationKind,
    destination: Destination,
    connections: readonly Connection[],
  ) {
    this.#parts = parts;
    this.#labels = { destination: destination.id, kind: kind.kind };
    this.#routes = routesOf(destination, connections);
    this.#outlet = new Outlet(kind, destination, parts);
    const record = parts.ledger.lane(destination.id);
    this.#intake = new Intake(parts.feed, this.#routes, record);
    const count = kind.concurrency(destination.config);
    this.#partitions = Array.from({ length: count }, () => new Partition(this.#partitionHost()));
    this.#transformHost = {
      live: parts.live,
      sandbox: parts.sandbox,
      logger: parts.logger,
      running: () => this.#running,
      random: () => parts.clock.random(),
      pause: (ms) => this.#pause(ms),
      destination: () => this.destination,
      waiting: (is) => {
        this.#waitsForSandbox = is;
      },
    };
    this.#ended = this.#run();
  }

  get destination(): Destination {
    return this.#routes.destination;
  }

  get gauges() {
    return {
      ...this.#labels,
      lagEvents: () => this.#intake.lagEvents(),
      lagSeconds: () => this.#lagSeconds(),
      waiting: () => this.#waitsForSandbox,
    };
  }

  durableLow(log: string): number | undefined {
    return this.#intake.durableLow(log);
  }

  /** There may be something to read, or to replay. */
  wake(replays = false): void {
    this.#replaysWait ||= replays;
    this.#work.ring();
  }

  /** Has the cursor written although nothing settled, so that the log can be trimmed. */
  checkpoint(): void {
    this.#parts.ledger.schedule(this);
  }

  update(destination: Destination, connections: readonly Connection[]): void {
    this.#routes = routesOf(destination, connections);
    this.#outlet.update(destination);
    this.#intake.reroute(this.#routes);
    this.#changed.ring();
    this.#work.ring();
  }

  /** Starts nothing more; resolves when attempts under way have ended and cursors are scheduled. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#changed.ring();
    this.#work.ring();
    await this.#ended;
    await Promise.all(this.#partitions.map((partition) => partition.ended()));
    await this.#outlet.close();
    this.checkpoint();
  }

  /** As `stop`, for a destination that is gone: what was owed is discarded. Returns how many. */
  async remove(): Promise<number> {
    this.#removed = true;
    this.abort();
    await this.stop();
    return this.#window.size;
  }

  /** Cuts the attempts under way. */
  abort(): void {
    this.#outlet.abort();
  }

  async #run(): Promise<void> {
    while (this.#running) {
      const rung = this.#work.wait();
      try {
        const items = this.#hasRoom() ? await this.#take() : [];
        if (items.length > 0) await this.#process(items);
        else if (this.#running) await rung;
      } catch (error) {
        this.#parts.logger.error({ ...this.#labels, err: error }, "A lane cannot read on");
        await this.#pause(RETRY_DELAY_MS_MIN);
      }
    }
  }

  #hasRoom(): boolean {
    return this.#window.size < LANE_WINDOW_EVENTS_MAX && this.#windowBytes < LANE_WINDOW_BYTES_MAX;
  }

  async #take(): Promise<Item[]> {
    const room = LANE_WINDOW_EVENTS_MAX - this.#window.size;
    const count = Math.min(room, TRANSFORM_BATCH_EVENTS_MAX);
    let items = this.#replaysWait ? this.#takeReplays(count) : [];
    if (items.length === 0) {
      items = await this.#intake.take(count, LANE_WINDOW_BYTES_MAX - this.#windowBytes);
    }
    for (const item of items) {
      this.#window.add(item);
      this.#windowBytes += item.bytes;
    }
    return items;
  }

  #takeReplays(count: number): Item[] {
    const replays = this.#parts.ledger.replays(this.destination.id, this.#replaying, count);
    this.#replaysWait = replays.length > 0;
    return replays.map(({ letter, replayedAt }) => {
      this.#replaying.add(letter.id);
      const input = inputOfLetter(letter);
      const bytes = input.event.json.length;
      const origin = { replayOf: letter };
      return { input, origin, bornAt: replayedAt, bytes, open: 0, letters: [] };
    });
  }

  /** From what was taken to the partitions, in order. */
  async #process(items: readonly Item[]): Promise<void> {
    const due = items.filter((item) => !this.#settledUnsent(item));
    const ready = new Map(due.map((item) => [item, this.#readyOutput(item)]));
    const raw = this.#withoutTwins(due.filter((item) => ready.get(item) === undefined));
    const made = raw.length === 0 ? undefined : await this.#transform(raw);
    // Stopped while it waited: what is not settled stays pending.
    if (!this.#running) return;
    for (const [item, output] of ready) if (output !== undefined) this.#emit(item, [output]);
    for (const [index, item] of raw.entries()) {
      if (made === undefined) this.#emit(item, [outputOf(item, item.input.event.json)]);
      else this.#emitOutcome(item, made.live, made.outcomes[index]!);
    }
  }

  /** Of several failed outputs of one event, replayed through new code, the event runs once. */
  #withoutTwins(items: readonly Item[]): Item[] {
    const seen = new Set<string>();
    return items.filter((item) => {
      const isTwin = "replayOf" in item.origin && seen.has(item.input.messageId);
      seen.add(item.input.messageId);
      if (isTwin) this.#settleWhole(item, { kind: "discarded" });
      return !isTwin;
    });
  }

  async #transform(items: readonly Item[]): Promise<Transformed | undefined> {
    const { metrics } = this.#parts;
    const started = performance.now();
    const made = await transform(this.#transformHost, items);
    if (made !== undefined) {
      metrics.transformSeconds.observe(this.#labels, (performance.now() - started) / 1_000);
    }
    return made;
  }

  /** Ends an item that must not be sent (any more), before any code runs over it. */
  #settledUnsent(item: Item): boolean {
    const at = this.#standing(item);
    if (at.kind === "send") return false;
    const ending: Ending =
      at.kind === "discard" ? { kind: "discarded" } : deadLetter("deliver", at.reason);
    this.#settleWhole(item, ending);
    return true;
  }

  /** Ends an item that made no output of its own. */
  #settleWhole(item: Item, ending: Ending, live?: LiveProgram): void {
    item.open = 1;
    this.#settle(outputOf(item, item.input.event.json, live), ending);
  }

  /** A replay that needs no code: it failed at the destination, and the code is still the same. */
  #readyOutput(item: Item): Output | undefined {
    if (!("replayOf" in item.origin)) return undefined;
    const { stage, programId, text } = item.origin.replayOf;
    const live = this.#parts.live.program(this.destination.id);
    if (stage !== "deliver" || programId !== live?.id) return undefined;
    return outputOf(item, Buffer.from(text), live);
  }

  #emitOutcome(item: Item, live: LiveProgram, outcome: Outcome): void {
    if ("events" in outcome && outcome.events.length > 0) {
      const outputs = outcome.events.map((bytes) => outputOf(item, bytes, live));
      this.#emit(item, outputs);
      return;
    }
    if ("events" in outcome) this.#settleWhole(item, { kind: "dropped" }, live);
    else {
      const { message, line, column } = outcome.error;
      this.#settleWhole(item, { ...deadLetter("transform", message), line, column }, live);
    }
  }

  #emit(item: Item, outputs: readonly Output[]): void {
    const bytes = outputs.reduce((sum, output) => sum + output.bytes.length, 0);
    this.#windowBytes += Math.max(0, bytes - item.bytes);
    item.bytes = Math.max(item.bytes, bytes);
    item.open = outputs.length;
    const partition = partitionOf(item.input.event.user, this.#partitions);
    for (const output of outputs) partition.push(output);
  }

  #standing(item: Item): Standing {
    this.#parts.refresh();
    if (this.#removed) return { kind: "discard" };
    const { origin, input } = item;
    return standing(
      this.#routes,
      input.sourceId,
      "replayOf" in origin ? undefined : origin.connectionId,
    );
  }

  #settle(output: Output, ending: Ending): void {
    const { item } = output;
    const { tap, clock, metrics, ledger } = this.#parts;
    metrics.events.inc({ ...this.#labels, outcome: ending.kind });
    if (ending.kind === "dead-letter") {
      item.letters.push(letterOf(output, ending, this.destination, clock.now()));
    }
    if (ending.kind !== "discarded" && tap.wants(this.destination.workspaceId)) {
      tap.send(this.destination.workspaceId, {
        stage: ending.kind,
        sourceId: item.input.sourceId,
        destinationId: this.destination.id,
        at: clock.now(),
        messageId: item.input.messageId,
        event: jsonOf(output.bytes),
        ...(ending.kind === "dead-letter" && { reason: ending.reason }),
      });
    }
    item.open -= 1;
    if (item.open > 0) return;
    this.#settled.push(item);
    ledger.schedule(this);
  }

  collect(): LaneChange | undefined {
    if (this.#removed) return undefined;
    const items = this.#settled.splice(0);
    const replayed: string[] = [];
    for (const { origin } of items) {
      if ("replayOf" in origin) replayed.push(origin.replayOf.id);
      else this.#intake.settle(origin.log, origin.sequence);
    }
    const record = this.#intake.record();
    if (items.length === 0 && this.#isKept(record)) return undefined;
    const change: LaneChange = {
      destinationId: this.destination.id,
      record,
      letters: items.flatMap((item) => item.letters),
      replayed,
    };
    this.#committing.set(change, { items, lows: this.#intake.lows() });
    return change;
  }

  #isKept({ logs }: LaneRecord): boolean {
    const kept = this.#parts.ledger.lane(this.destination.id)?.logs ?? {};
    return Bun.deepEquals(kept, logs);
  }

  committed(change: LaneChange): void {
    const kept = this.#committing.get(change);
    if (kept === undefined) return;
    this.#committing.delete(change);
    this.#intake.kept(kept.lows);
    for (const item of kept.items) {
      this.#window.delete(item);
      this.#windowBytes -= item.bytes;
    }
    for (const id of change.replayed) this.#replaying.delete(id);
    this.#work.ring();
  }

  #lagSeconds(): number {
    const [oldest] = this.#window;
    return oldest === undefined ? 0 : (this.#parts.clock.now() - oldest.bornAt) / 1_000;
  }

  #partitionHost(): PartitionHost {
    const { clock, retryWindowMs } = this.#parts;
    return {
      retryWindowMs,
      now: () => clock.now(),
      random: () => clock.random(),
      batchSize: () => this.#outlet.batchSize,
      running: () => this.#running,
      standing: (output) => this.#standing(output.item),
      deliver: (outputs) => this.#outlet.deliver(outputs.map(({ bytes }) => bytes)),
      settle: (output, ending) => this.#settle(output, ending),
      pause: (ms) => this.#pause(ms),
      deliveries: () => this.#outlet.delivered,
      failure: () => this.#outlet.failure,
    };
  }

  #pause(ms: number): Promise<void> {
    return this.#parts.clock.sleep(ms, this.#changed.wait());
  }
}

function deadLetter(stage: "transform" | "deliver", reason: string) {
  return { kind: "dead-letter" as const, stage, reason };
}

function partitionOf(user: string, partitions: readonly Partition[]): Partition {
  return partitions[Number(Bun.hash(user) % BigInt(partitions.length))]!;
}
