import type { Live, LiveProgram } from "../catalog/catalog.ts";
import type { Connection, Destination } from "../catalog/model.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import { RETRY_DELAY_MS_MIN, TRANSFORM_BATCH_EVENTS_MAX } from "../limits.ts";
import type { Logger } from "../observe/log.ts";
import type { Sandbox } from "../sandbox/program.ts";
import { Bell, type Clock } from "./clock.ts";
import type { Feed } from "./feed.ts";
import { Intake } from "./intake.ts";
import { type Ending, type Item, type Output, outputOf } from "./item.ts";
import type { Committer, LaneChange, LaneRecord, Ledger } from "./ledger.ts";
import { itemOfReplay, letterOf } from "./letters.ts";
import type { LaneLabels, LaneMetrics } from "./metrics.ts";
import { Outlet } from "./outlet.ts";
import { Partition, type PartitionHost } from "./partition.ts";
import { type Routes, replayStanding, routesOf, type Standing, standing } from "./router.ts";
import type { LiveTap } from "./tap.ts";
import { type Made, type TransformHost, transform } from "./transform.ts";
import { Window } from "./window.ts";

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
  /** Takes up what changed in the catalog; cheap when nothing did. */
  refresh(): void;
}

/** Everything on its way to one destination: read, transformed, delivered, settled, committed. */
export class Lane implements Committer {
  readonly #parts: LaneParts;
  readonly #labels: LaneLabels;
  readonly #outlet: Outlet;
  readonly #intake: Intake;
  readonly #partitions: Partition[];
  #routes: Routes;
  readonly #window = new Window();
  /** Settled since the last commit began. */
  #settled: Item[] = [];
  readonly #committing = new Map<LaneChange, { items: Item[]; lows: Map<string, number> }>();
  /** Letters that are in the window again, by id. */
  readonly #replaying = new Set<string>();
  #replaysWait = true;
  /** There may be something to take, or room for it. */
  readonly #work = new Bell();
  /** Settings changed, or the lane ends. */
  readonly #changed = new Bell();
  /** The lane ends: what changed settings do not cut is cut. */
  readonly #ending = new Bell();
  #running = true;
  #removed = false;
  #waitsForSandbox = false;
  readonly #ended: Promise<void>;

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
    this.#intake = new Intake(parts.feed, this.#routes, parts.ledger.lane(destination.id));
    const host = this.#partitionHost();
    const count = kind.concurrency(destination.config);
    this.#partitions = Array.from({ length: count }, () => new Partition(host));
    this.#ended = this.#run(this.#transformHost());
  }

  get destination(): Destination {
    return this.#routes.destination;
  }

  get gauges() {
    return {
      ...this.#labels,
      // The window also holds what has settled and is not on disk yet.
      lagEvents: () => Math.max(this.#intake.lagEvents(), this.#window.size),
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

  /** Takes up what changed. Nothing, mostly: then attempts that wait are left to wait. */
  update(destination: Destination, connections: readonly Connection[]): void {
    const routes = routesOf(destination, connections);
    if (Bun.deepEquals(routes, this.#routes)) return;
    for (const { id } of this.#routes.bySource.values()) {
      if (connections.some((connection) => connection.id === id)) continue;
      const about = { ...this.#labels, connectionId: id };
      this.#parts.logger.info(about, "A connection ended; what it is still owed is discarded");
    }
    this.#routes = routes;
    this.#outlet.update(destination);
    this.#intake.reroute(this.#routes);
    this.#changed.ring();
    this.#work.ring();
  }

  /**
   * Starts nothing more, and leaves batches that run to their guests: their events stay pending.
   * Resolves when attempts under way have ended and cursors are scheduled.
   */
  async stop(): Promise<void> {
    this.#running = false;
    this.#ending.ring();
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
    this.#parts.metrics.forget(this.#labels);
    return this.#window.size;
  }

  /** Cuts the attempts under way. */
  abort(): void {
    this.#outlet.abort();
  }

  /** Two batches are on their way at most: a guest reads the next one while it runs the first. */
  async #run(host: TransformHost): Promise<void> {
    let last: Promise<void> = Promise.resolve();
    while (this.#running) {
      // A full window gets room bit by bit, and small batches cost more than they gain.
      if (this.#window.room.events < TRANSFORM_BATCH_EVENTS_MAX) await last;
      const rung = this.#work.wait();
      const items = await this.#safely(() => this.#take());
      if (items === undefined) continue;
      if (items.length === 0) {
        if (this.#running) await rung;
        continue;
      }
      const before = last;
      last = this.#carry(host, items, before);
      await before;
    }
    await last;
  }

  /** Runs the live code over items, and hands them on behind those `before`. */
  async #carry(host: TransformHost, items: readonly Item[], before: Promise<void>): Promise<void> {
    let made: Map<Item, Made> | undefined;
    let standings = new Map<Item, Standing>();
    // Kept until they are handed on: an error on the way there must not lose them.
    while (made === undefined && this.#running) {
      made = await this.#safely(() => {
        standings = this.#standings(items);
        const due = items.filter((item) => standings.get(item)!.kind === "send");
        return transform(host, due);
      });
    }
    await before;
    if (made === undefined || !this.#running) return;
    await this.#safely(() => this.#handOn(standings, made));
  }

  /** Undefined after an error, which is told; then some time has passed. */
  async #safely<T>(step: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      this.#parts.logger.error({ ...this.#labels, err: error }, "A lane cannot go on");
      await this.#pause(RETRY_DELAY_MS_MIN);
      return undefined;
    }
  }

  async #take(): Promise<Item[]> {
    const room = this.#window.room;
    const count = Math.min(room.events, TRANSFORM_BATCH_EVENTS_MAX);
    if (count <= 0) return [];
    const replays = this.#replaysWait ? this.#takeReplays(count, room.bytes) : [];
    const items = replays.length > 0 ? replays : await this.#intake.take(count, room.bytes);
    for (const item of items) this.#window.take(item);
    return items;
  }

  #takeReplays(count: number, bytes: number): Item[] {
    const { ledger } = this.#parts;
    const replays = ledger.replays(this.destination.id, this.#replaying, count, bytes);
    this.#replaysWait = replays.length > 0;
    for (const { letter } of replays) this.#replaying.add(letter.id);
    return replays.map(itemOfReplay);
  }

  #standings(items: readonly Item[]): Map<Item, Standing> {
    this.#parts.refresh();
    return new Map(items.map((item) => [item, this.#standing(item)]));
  }

  /** To the partitions, in order, or to an end: what must not be sent has not met any code. */
  #handOn(standings: ReadonlyMap<Item, Standing>, made: ReadonlyMap<Item, Made>): void {
    for (const [item, at] of standings) {
      const result = made.get(item);
      if (at.kind === "discard") this.#settleWhole(item, { kind: "discarded" });
      else if (at.kind === "refused") {
        this.#settleWhole(item, { kind: "dead-letter", stage: "deliver", reason: at.reason });
      } else if (result !== undefined && "outputs" in result) this.#emit(item, result.outputs);
      else if (result !== undefined) this.#settleWhole(item, result.ending, result.live);
    }
  }

  #standing({ origin, input }: Item): Standing {
    if (this.#removed) return { kind: "discard" };
    if ("replayOf" in origin) return replayStanding(this.#routes);
    return standing(this.#routes, input.sourceId, origin);
  }

  #emit(item: Item, outputs: readonly Output[]): void {
    item.open = outputs.length;
    this.#window.grow(
      item,
      outputs.reduce((sum, { bytes }) => sum + bytes.length, 0),
    );
    const hash = Bun.hash.crc32(item.input.event.user);
    const partition = this.#partitions[hash % this.#partitions.length]!;
    for (const output of outputs) partition.push(output);
  }

  /** Ends an item that made no output. */
  #settleWhole(item: Item, ending: Ending, live?: LiveProgram): void {
    item.open = 1;
    this.#settle(outputOf(item, item.input.event.json, live), ending);
  }

  #settle(output: Output, ending: Ending): void {
    const { item } = output;
    const { clock, metrics, ledger, tap } = this.#parts;
    metrics.events.inc({ ...this.#labels, outcome: ending.kind });
    if (ending.kind === "dead-letter") {
      item.letters.push(letterOf(output, ending, this.destination, clock.now()));
    }
    tap.settled(output, ending, this.destination, clock.now());
    item.open -= 1;
    if (item.open > 0) return;
    const wasFull = this.#window.isFull;
    this.#window.settle();
    if (wasFull) this.#work.ring();
    this.#settled.push(item);
    ledger.schedule(this);
  }

  collect(): LaneChange | undefined {
    if (this.#removed) return undefined;
    const items = this.#settled;
    this.#settled = [];
    const replayed: string[] = [];
    for (const { origin } of items) {
      if ("replayOf" in origin) replayed.push(origin.replayOf.id);
      else this.#intake.settle(origin.log, origin.sequence);
    }
    const record = this.#intake.record();
    if (items.length === 0 && this.#isKept(record)) return undefined;
    const letters = items.flatMap((item) => item.letters);
    const change = { destinationId: this.destination.id, record, letters, replayed };
    this.#committing.set(change, { items, lows: this.#intake.lows() });
    return change;
  }

  committed(change: LaneChange): void {
    const { items, lows } = this.#committing.get(change)!;
    this.#committing.delete(change);
    this.#intake.kept(lows);
    const wasFull = this.#window.isFull;
    this.#window.commit(items);
    for (const id of change.replayed) this.#replaying.delete(id);
    if (wasFull) this.#work.ring();
  }

  #isKept({ logs }: LaneRecord): boolean {
    return Bun.deepEquals(this.#parts.ledger.lane(this.destination.id)?.logs ?? {}, logs);
  }

  #lagSeconds(): number {
    const { oldest } = this.#window;
    return oldest === undefined ? 0 : (this.#parts.clock.now() - oldest.bornAt) / 1_000;
  }

  #pause(ms: number): Promise<void> {
    return this.#parts.clock.sleep(ms, this.#changed);
  }

  #transformHost(): TransformHost {
    const { live, sandbox, logger, clock, metrics } = this.#parts;
    return {
      ...{ live, sandbox, logger },
      destination: () => this.destination,
      running: () => this.#running,
      random: () => clock.random(),
      pause: (ms) => this.#pause(ms),
      unlessEnding: (work) => this.#ending.orRing(work),
      waiting: (is) => {
        this.#waitsForSandbox = is;
      },
      took: (seconds) => metrics.transformSeconds.observe(this.#labels, seconds),
    };
  }

  #partitionHost(): PartitionHost {
    const { clock, retryWindowMs } = this.#parts;
    return {
      retryWindowMs,
      now: () => clock.now(),
      random: () => clock.random(),
      batchSize: () => this.#outlet.batchSize,
      running: () => this.#running,
      refresh: () => this.#parts.refresh(),
      standing: (output) => this.#standing(output.item),
      deliver: (outputs) => this.#outlet.deliver(outputs.map(({ bytes }) => bytes)),
      settle: (output, ending) => this.#settle(output, ending),
      pause: (ms) => this.#pause(ms),
      tally: () => this.#outlet.tally,
      failure: () => this.#outlet.failure,
    };
  }
}
