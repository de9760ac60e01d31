import { pino } from "pino";
import type { Destination } from "../../src/catalog/model.ts";
import type {
  DeliveryResult,
  DestinationKind,
  OutgoingEvent,
} from "../../src/destinations/destination.ts";
import { type Clock, Notifier } from "../../src/pipeline/clock.ts";
import { LaneDelivery } from "../../src/pipeline/delivering/lane-delivery.ts";
import { createOutput, type EventOutcome } from "../../src/pipeline/model/lane-event.ts";
import { createRoutes } from "../../src/pipeline/model/routes.ts";
import { HealthLogger } from "../../src/pipeline/monitoring/health-logger.ts";
import { fail, laneEvent, laneMetrics } from "./doubles.ts";

/** An event of a test: its number, its user, and whether its delivery always fails. */
export interface TestEvent {
  n: number;
  user: string;
  isPoison?: boolean;
}

/** The outcome of an event, and its age in milliseconds at that time. */
export interface SettledEvent extends TestEvent {
  outcome: EventOutcome;
  ageMs: number;
}

/** The delivery part of a lane, with a clock that the test chooses and no ledger. */
export class LaneDeliveryRig {
  readonly settled: SettledEvent[] = [];
  readonly delivery: LaneDelivery;
  /** Number of times that the delivery has told of an outage. */
  notedOutages = 0;
  /** Called with a broken invariant. */
  onFail: (error: unknown) => void = fail;
  readonly #clock: Clock;
  readonly #destination: Destination;
  #isRunning = true;
  #routes;

  constructor(
    kind: DestinationKind,
    config: Record<string, unknown>,
    clock: Clock,
    retryWindowMs = 3_600_000,
    earlierOutageMs = 0,
  ) {
    this.#clock = clock;
    const destination: Destination = {
      ...{ id: "d", workspaceId: "workspace", name: "D", type: kind.kind, enabled: true },
      ...{ config, createdAt: 0, updatedAt: 0 },
    };
    this.#destination = destination;
    this.#routes = createRoutes(destination, []);
    const logger = pino({ level: "silent" });
    this.delivery = new LaneDelivery(
      {
        ...{ clock, logger, retryWindowMs, metrics: laneMetrics(), recovered: undefined },
        fail: (error) => this.onFail(error),
        earlierFailure: earlierOutageMs > 0 ? { outageMs: earlierOutageMs } : {},
        health: new HealthLogger({ clock, logger, destination: () => destination }),
        labels: { destination: "d", name: "D", kind: kind.kind },
        refresh() {},
        isRunning: () => this.#isRunning,
        routes: () => this.#routes,
        decide: () => ({ kind: "send" }),
        committer: {
          settle: (outputs, outcome) => {
            for (const { bytes, laneEvent } of outputs) {
              const event = eventOf({ bytes });
              this.settled.push({ ...event, outcome, ageMs: this.#age(laneEvent) });
            }
          },
          writeIntent: async () => {},
          hasWrittenIntent: () => true,
          clearIntent() {},
          noteOutage: () => {
            this.notedOutages += 1;
          },
        },
      },
      kind,
      destination,
    );
  }

  /** Gives the destination another config, as a lane does. */
  change(config: Record<string, unknown>): void {
    this.delivery.client.update({ ...this.#destination, config });
    this.delivery.interruptWaits();
  }

  push(...events: TestEvent[]): void {
    for (const event of events) this.pushReceived(this.#clock.now(), event);
  }

  /** Adds events with an arrival time that the clock of another process may have given. */
  pushReceived(at: number, ...events: TestEvent[]): void {
    for (const event of events) {
      const bytes = Buffer.from(JSON.stringify(event));
      const taken = laneEvent({ checkedRoutes: this.#routes, retryWindowStart: at });
      taken.input = { ...taken.input, event: { ...taken.input.event, user: event.user } };
      this.delivery.push(event.user, [createOutput(taken, bytes)]);
    }
  }

  delivered(): SettledEvent[] {
    return this.settled.filter(({ outcome }) => outcome.kind === "delivered");
  }

  letters(): SettledEvent[] {
    return this.settled.filter(({ outcome }) => outcome.kind === "dead-letter");
  }

  async end(): Promise<void> {
    this.#isRunning = false;
    this.delivery.client.abort();
    await this.delivery.close();
  }

  #age({ retryWindowStart }: { retryWindowStart: number }): number {
    return this.#clock.now() - retryWindowStart;
  }
}

export function eventOf({ bytes }: Pick<OutgoingEvent, "bytes">): TestEvent {
  return JSON.parse(Buffer.from(bytes).toString());
}

/** The users whose delivered events are not in the order of their numbers. */
export function disordered(events: readonly TestEvent[]): string[] {
  const last = new Map<string, number>();
  const users = new Set<string>();
  for (const { user, n } of events) {
    if (n < (last.get(user) ?? -1)) users.add(user);
    last.set(user, n);
  }
  return [...users];
}

/** A clock whose time passes only when nothing else can happen. */
export class SimulatedClock implements Clock {
  #now = 0;
  #state: number;
  readonly #timers = new Set<{ at: number; ring: () => void }>();

  constructor(seed = 1) {
    this.#state = seed;
  }

  /** Milliseconds by which the wall clock is ahead of the time that has passed. */
  aheadMs = 0;

  now = () => this.#now + this.aheadMs;
  elapsed = () => this.#now;
  age = (at: number) => Math.max(0, this.now() - at);

  random(): number {
    this.#state = (this.#state * 48_271) % 0x7fffffff;
    return this.#state / 0x7fffffff;
  }

  sleep(ms: number, until: Notifier = new Notifier()): Promise<void> {
    return new Promise((resolve) => {
      const timer = { at: this.#now + Math.max(0, ms), ring: () => end() };
      const end = () => {
        this.#timers.delete(timer);
        forget();
        resolve();
      };
      const forget = until.once(end);
      this.#timers.add(timer);
    });
  }

  /** Lets time pass until `ms`; whatever waits meanwhile continues at its time. */
  async runUntil(ms: number): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      let next: { at: number; ring: () => void } | undefined;
      for (const timer of this.#timers) if (next === undefined || timer.at < next.at) next = timer;
      if (next === undefined || next.at > ms) break;
      this.#now = Math.max(this.#now, next.at);
      next.ring();
    }
    this.#now = ms;
  }
}

/** A kind whose deliveries take 5 ms and 20 µs an event, to results that the test decides. */
export function simulatedKind(
  clock: SimulatedClock,
  { concurrency, batchSize }: { concurrency: number; batchSize: number },
  resultOf: (events: TestEvent[]) => DeliveryResult,
): DestinationKind {
  return {
    ...{ kind: "simulated", configSchema: {} as never, secretKeys: [], validate: () => [] },
    test: async () => [],
    batchSize: () => batchSize,
    concurrency: concurrency,
    open: () => ({
      async deliver(outgoing) {
        const events = outgoing.map(eventOf);
        await clock.sleep(5 + events.length / 50);
        return resultOf(events);
      },
      async close() {},
    }),
  };
}
