import { SentPixels } from "../soak/sent-pixels.ts";
import type { Node } from "./node.ts";
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
/** Users whose pixels show that a node takes those of all partitions. */
const PROBES = 24;

/** An answered request of the load. */
export interface Sample {
  kind: "pixel" | "write" | "read";
  node: string;
  /** By `performance.now()`. */
  startedAt: number;
  ms: number;
  status: number;
}

/** Load of users who send numbered pixels, each after the previous response, and of API clients. */
export class Load {
  readonly pixels = new SentPixels();
  /** Responses to pixels by status. */
  readonly pixelStatuses: Record<number, number> = {};
  readonly callStatuses: Record<number, number> = {};
  /** Responses to API calls that write, by status. */
  readonly writeStatuses: Record<number, number> = {};
  readonly faults: string[] = [];
  /** Every answered request, in the order of the answers. */
  readonly samples: Sample[] = [];
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

  /**
   * Waits until one node takes a pixel of every partition, answers a change and a read, and is
   * ready; returns the time of each in milliseconds. A time of -1 has not come within `msMax`.
   */
  async taken(node: Node, msMax = GO_ON_MS_MAX): Promise<Record<string, number>> {
    const startedAt = performance.now();
    const probes = {
      pixels: () => this.#takesPixels(node),
      change: () => answers(node.api("PUT", this.#probed, { name: "Probe" })),
      read: () => answers(node.api("GET", this.#probed)),
      ready: () => answers(node.api("GET", "/ready")),
    };
    const waits = Object.entries(probes).map(async ([name, probe]) => {
      while (!(await probe())) {
        if (performance.now() - startedAt > msMax) return [name, -1] as const;
        await Bun.sleep(PAUSE_MS);
      }
      return [name, Math.round(performance.now() - startedAt)] as const;
    });
    return Object.fromEntries(await Promise.all(waits));
  }

  get #probed(): string {
    return `/v2/sources/${this.site.probeSourceId}`;
  }

  /** Whether a node takes a pixel of each of the users that send to it alone. */
  async #takesPixels(node: Node): Promise<boolean> {
    const statuses = await Promise.all(
      Array.from({ length: PROBES }, (_, index) => this.#pixel(node, `u-${node.name}-${index}`)),
    );
    return statuses.every((status) => status === 200);
  }

  /** Sends the next pixel of a user to a node; resolves with the status. */
  async #pixel(node: Node, user: string): Promise<number> {
    const number = this.pixels.next(user);
    const startedAt = performance.now();
    const status = await node.pixel(this.site.writeKey, user, `${user}:${number}`);
    this.#sample("pixel", node, startedAt, status);
    if (status === 200) this.pixels.acknowledge(user, number);
    else if (!AWAY.includes(status)) this.faults.push(`a pixel is answered ${status}`);
    return status;
  }

  #sample(kind: Sample["kind"], { name }: { name: string }, startedAt: number, status: number) {
    this.samples.push({ kind, node: name, startedAt, ms: performance.now() - startedAt, status });
  }

  /** Checks that all nodes know the last write. */
  async readEverywhere(): Promise<void> {
    for (const node of this.site.nodes) await this.#readOnce(() => node);
  }

  async #send(user: string, pauseMs: number): Promise<void> {
    while (this.#on) {
      const startedAt = performance.now();
      const status = await this.#pixel(this.site.anyNode(), user);
      this.pixelStatuses[status] = (this.pixelStatuses[status] ?? 0) + 1;
      const leftMs = pauseMs - (performance.now() - startedAt);
      await Bun.sleep(Math.max(status === 200 ? 0 : PAUSE_MS, leftMs));
    }
  }

  async #write(): Promise<void> {
    for (; this.#on; await Bun.sleep(CALL_PAUSE_MS)) {
      const value = this.#register.next();
      const body = { name: `Site ${value}` };
      const path = `/v2/sources/${this.site.sourceId}`;
      const node = this.site.anyNode();
      const startedAt = performance.now();
      const { status } = await node.api("PUT", path, body);
      this.#sample("write", node, startedAt, status);
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
    const startedAt = performance.now();
    const { status, body } = await node.api("GET", `/v2/sources/${this.site.sourceId}`);
    this.#sample("read", node, startedAt, status);
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

const answers = async (answer: Promise<{ status: number }>) => (await answer).status === 200;
