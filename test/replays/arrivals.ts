import { LANE_UNCOMMITTED_EVENTS_MAX } from "../../src/pipeline/memory-budget.ts";

export interface Verdict {
  /** Violations in sentences. */
  broken: string[];
  arrived: number;
  /** Number of events that arrived twice. */
  repeated: number;
}

/** Receiver of replayed events, by their number, and of live events. */
export class Arrivals {
  readonly #server: Bun.Server<undefined>;
  /** Position of each replayed event in the order of arrival. */
  readonly #ranks = new Map<number, number>();
  readonly #repeated: number[] = [];
  readonly #latencies: Record<string, number[]> = {};
  #phase = "";
  #crashedAt = 0;
  #reached = () => {};

  constructor() {
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => this.#take(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/`;
  }

  /** Number of distinct replayed events that have arrived. */
  get count(): number {
    return this.#ranks.size;
  }

  /** Runs `work`, and counts live events that arrive during it for a phase. */
  async during(phase: string, work: () => Promise<unknown>): Promise<void> {
    this.#phase = phase;
    this.#latencies[phase] ??= [];
    await work();
    this.#phase = "";
  }

  latencies(phase: string): number[] {
    return [...(this.#latencies[phase] ?? [])];
  }

  /** Runs `then` as soon as `count` events have arrived; resolves with its result. */
  reach<T>(count: number, then: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      this.#reached = () => {
        if (this.count < count) return;
        this.#reached = () => {};
        resolve(then());
      };
    });
  }

  /** Marks the crash: events that arrived before may arrive again. Returns their number. */
  crashed(): number {
    this.#crashedAt = this.count;
    return this.count;
  }

  /**
   * Checks the arrival of `events` events from number `first` on, which belong to `users` in turn.
   */
  judge(first: number, events: number, users: number): Verdict {
    const broken: string[] = [];
    const numbers = [...this.#ranks.keys()];
    const strange = numbers.filter((n) => n < first || n >= first + events);
    if (strange.length > 0) broken.push(`${strange.length} events are not of the time`);
    const missing = events - (numbers.length - strange.length);
    if (missing !== 0) broken.push(`${missing} events are missing`);
    const last = new Map<number, number>();
    let unordered = 0;
    for (const n of numbers) {
      if ((last.get(n % users) ?? -1) > n) unordered += 1;
      last.set(n % users, n);
    }
    if (unordered > 0) broken.push(`${unordered} events came before an earlier one of their user`);
    const window = this.#crashedAt - LANE_UNCOMMITTED_EVENTS_MAX;
    const stray = this.#repeated.filter((n) => {
      const rank = this.#ranks.get(n)!;
      return rank < window || rank >= this.#crashedAt;
    });
    if (stray.length > 0) broken.push(`${stray.length} events were repeated without a crash`);
    return { broken, arrived: numbers.length, repeated: this.#repeated.length };
  }

  stop(): void {
    this.#server.stop(true);
  }

  async #take(request: Request): Promise<Response> {
    const now = Date.now();
    for (const { properties } of (await request.json()) as { properties: Properties }[]) {
      if (properties.sentAt !== undefined)
        this.#latencies[this.#phase]?.push(now - properties.sentAt);
      else if (this.#ranks.has(properties.n)) this.#repeated.push(properties.n);
      else this.#ranks.set(properties.n, this.#ranks.size);
    }
    this.#reached();
    return new Response();
  }
}

interface Properties {
  n: number;
  sentAt?: number;
}
