import { LANE_UNCOMMITTED_EVENTS_MAX } from "../../src/pipeline/memory-budget.ts";

export interface Verdict {
  /** Promises that were broken, in words. */
  broken: string[];
  arrived: number;
  /** Events that arrived twice. */
  repeated: number;
}

/** A receiver of replayed events, by their number, and of live ones. */
export class Arrivals {
  readonly #server: Bun.Server<undefined>;
  /** Number of a replayed event → how many events had arrived before it. */
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

  /** Different replayed events that have arrived. */
  get count(): number {
    return this.#ranks.size;
  }

  /** Runs something, and counts live events that arrive meanwhile for a phase. */
  async during(phase: string, work: () => Promise<unknown>): Promise<void> {
    this.#phase = phase;
    this.#latencies[phase] ??= [];
    await work();
    this.#phase = "";
  }

  latencies(phase: string): number[] {
    return [...(this.#latencies[phase] ?? [])];
  }

  /** Resolves with what `then` does as soon as so many events have arrived. */
  reach<T>(count: number, then: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      this.#reached = () => {
        if (this.count < count) return;
        this.#reached = () => {};
        resolve(then());
      };
    });
  }

  /** What arrived until now may arrive once more. Returns how many events that are. */
  crashed(): number {
    this.#crashedAt = this.count;
    return this.count;
  }

  /** Events are those from `first` on, dealt to so many users in turn. */
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
