import { SentPixels } from "../soak/sent-pixels.ts";
import { Register } from "./register.ts";
import type { Site } from "./site.ts";

export interface LoadOptions {
  users: number;
  pixelsPerSecond: number;
}

/** Statuses that a client may get during a failure; all other errors are faults. */
const AWAY = [0, 503];
const PAUSE_MS = 50;
const CALL_PAUSE_MS = 200;
const READERS = 2;
/** Consecutive rejected pixels and changes that show that a node accepts nothing. */
const REFUSED = 5;
/** Longest time without progress of a user's events while a node is up. */
const GO_ON_MS_MAX = 240_000;

/** Load of users who send numbered pixels, each after the previous response, and of API clients. */
export class Load {
  readonly pixels = new SentPixels();
  /** Responses to pixels by status. */
  readonly pixelStatuses: Record<number, number> = {};
  readonly callStatuses: Record<number, number> = {};
  /** Responses to API calls that write, by status. */
  readonly writeStatuses: Record<number, number> = {};
  readonly faults: string[] = [];
  readonly #register = new Register();
  readonly #users: string[];
  readonly #work: Promise<void>[];
  #on = true;

  constructor(
    private readonly site: Site,
    { users, pixelsPerSecond }: LoadOptions,
  ) {
    this.#users = Array.from({ length: users }, (_, index) => `u${index}`);
    const pauseMs = (1_000 * users) / pixelsPerSecond;
    this.#work = [
      ...this.#users.map((user) => this.#send(user, pauseMs)),
      this.#write(),
      ...Array.from({ length: READERS }, () => this.#read()),
    ];
  }

  async stop(): Promise<void> {
    this.#on = false;
    await Promise.all(this.#work);
  }

  /**
   * Waits until an event of each user has arrived that was sent after the call; returns the time in
   * milliseconds.
   */
  async goesOn(): Promise<number> {
    const startedAt = performance.now();
    const marks = new Map(this.#users.map((it) => [it, this.pixels.count(it)]));
    const { arrivals } = this.site;
    for (let waiting = this.#users; waiting.length > 0; await Bun.sleep(PAUSE_MS)) {
      arrivals.read();
      waiting = waiting.filter((it) => arrivals.highest(it) < marks.get(it)!);
      if (waiting.length > 0 && performance.now() - startedAt > GO_ON_MS_MAX) {
        this.faults.push(`nothing arrives of ${waiting.length} users, as ${waiting[0]}`);
        break;
      }
    }
    return Math.round(performance.now() - startedAt);
  }

  /**
   * Waits until the nodes reject pixels and calls with a reason, and accept none; returns the time
   * in milliseconds.
   */
  async isRefused(): Promise<Record<string, number>> {
    const startedAt = performance.now();
    const taken = () => (this.pixelStatuses[200] ?? 0) + (this.writeStatuses[200] ?? 0);
    const refused = () => Math.min(this.pixelStatuses[503] ?? 0, this.writeStatuses[503] ?? 0);
    for (let [before, least] = [taken(), refused() + REFUSED]; refused() < least; ) {
      if (performance.now() - startedAt > GO_ON_MS_MAX) {
        this.faults.push("pixels and calls are not refused");
        break;
      }
      await Bun.sleep(PAUSE_MS);
      if (taken() > before) [before, least] = [taken(), refused() + REFUSED];
    }
    const refusedMs = Math.round(performance.now() - startedAt);
    for (const node of this.site.nodes) {
      const { status, body } = await node.api("GET", "/ready");
      if (status !== 503) this.faults.push(`${node.name} is ready while the brokers take nothing`);
      const failing = Object.values(body?.checks ?? {}).filter((it: any) => !it.ok);
      if (status === 503 && !failing.every((it: any) => it.message))
        this.faults.push(`${node.name} does not say why it is not ready`);
    }
    return { refused: refusedMs };
  }

  /** Checks that all nodes know the last write. */
  async readEverywhere(): Promise<void> {
    for (const node of this.site.nodes) await this.#readOnce(() => node);
  }

  async #send(user: string, pauseMs: number): Promise<void> {
    while (this.#on) {
      const number = this.pixels.next(user);
      const startedAt = performance.now();
      const { site } = this;
      const status = await site.anyNode().pixel(site.writeKey, user, `${user}:${number}`);
      this.pixelStatuses[status] = (this.pixelStatuses[status] ?? 0) + 1;
      if (status === 200) this.pixels.acknowledge(user, number);
      else if (!AWAY.includes(status)) this.faults.push(`a pixel is answered ${status}`);
      const leftMs = pauseMs - (performance.now() - startedAt);
      await Bun.sleep(Math.max(status === 200 ? 0 : PAUSE_MS, leftMs));
    }
  }

  async #write(): Promise<void> {
    for (; this.#on; await Bun.sleep(CALL_PAUSE_MS)) {
      const value = this.#register.next();
      const body = { name: `Site ${value}` };
      const path = `/v2/sources/${this.site.sourceId}`;
      const { status } = await this.site.anyNode().api("PUT", path, body);
      this.#count(status, "PUT");
      if (status === 200) this.#register.acknowledge(value);
    }
  }

  async #read(): Promise<void> {
    for (; this.#on; await Bun.sleep(CALL_PAUSE_MS))
      await this.#readOnce(() => this.site.anyNode());
  }

  async #readOnce(
    choose: () => { api: Site["nodes"][number]["api"]; name: string },
  ): Promise<void> {
    const least = this.#register.acknowledged();
    const node = choose();
    const { status, body } = await node.api("GET", `/v2/sources/${this.site.sourceId}`);
    this.#count(status, "GET");
    if (status !== 200) return;
    const fault = this.#register.fault(least, Number(body.source.name.split(" ")[1]));
    if (fault !== undefined) this.faults.push(`${node.name}: ${fault}`);
  }

  #count(status: number, method: string): void {
    if (method === "PUT") this.writeStatuses[status] = (this.writeStatuses[status] ?? 0) + 1;
    this.callStatuses[status] = (this.callStatuses[status] ?? 0) + 1;
    if (status !== 200 && !AWAY.includes(status))
      this.faults.push(`${method} is answered ${status}`);
  }
}
