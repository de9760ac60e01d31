import { SentPixels } from "../soak/sent-pixels.ts";
import { Wire } from "./wire.ts";

/**
 * Ways in which users send: a connection for each pixel, a kept one, batches of an SDK on a kept
 * one.
 */
export const ways = ["fresh", "kept", "sdk"] as const;
export type Way = (typeof ways)[number];

export interface LoadOptions {
  port: number;
  writeKey: string;
  /** Number of users of each way. */
  users: number;
  /** Requests of all users in a second. */
  requestsPerSecond: number;
}

const BATCH_EVENTS = 3;

/**
 * Load of users who send numbered events, each request after the response to the previous one. A
 * request on a kept connection that the server closes without a response is repeated on a new one,
 * as browsers and SDKs do.
 */
export class TakeOverLoad {
  readonly events = new SentPixels();
  requests = 0;
  /** Faults in sentences: refused or broken connections, and statuses other than 200. */
  readonly faults: string[] = [];
  /** Requests on kept connections that the server closed at the same moment, without a reset. */
  races = 0;
  slowestMs = 0;
  readonly #work: Promise<void>[];
  #isOn = true;

  constructor(private readonly options: LoadOptions) {
    const pauseMs = (1_000 * options.users * ways.length) / options.requestsPerSecond;
    this.#work = ways.flatMap((way) =>
      Array.from({ length: options.users }, (_, at) => this.#send(way, `${way}-${at}`, pauseMs)),
    );
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await Promise.all(this.#work);
  }

  async #send(way: Way, user: string, pauseMs: number): Promise<void> {
    let dueAt = performance.now() + Math.random() * pauseMs;
    let wire: Wire | undefined;
    while (this.#isOn) {
      await Bun.sleep(Math.max(0, dueAt - performance.now()));
      dueAt = Math.max(dueAt + pauseMs, performance.now() - 1_000);
      const numbers = Array.from({ length: way === "sdk" ? BATCH_EVENTS : 1 }, () =>
        this.events.next(user),
      );
      const sentAt = performance.now();
      wire = await this.#exchange(way, wire, this.#request(way, user, numbers));
      this.slowestMs = Math.max(this.slowestMs, performance.now() - sentAt);
      if (wire === undefined) continue;
      this.requests++;
      for (const number of numbers) this.events.acknowledge(user, number);
    }
    wire?.close();
  }

  /** Sends a request until it is answered 200. Returns its connection; undefined after a fault. */
  async #exchange(way: Way, kept: Wire | undefined, bytes: string): Promise<Wire | undefined> {
    let wire = kept?.isOpen() && way !== "fresh" ? kept : undefined;
    for (;;) {
      if (wire === undefined) {
        wire = new Wire();
        if (!(await wire.open(this.options.port))) return this.#fault(`${way}: connection refused`);
      }
      const isUsed = wire.responses > 0;
      const outcome = await wire.request(bytes);
      if ("status" in outcome) {
        if (way === "fresh") wire.close();
        return outcome.status === 200 ? wire : this.#fault(`${way}: status ${outcome.status}`);
      }
      if (outcome.ended !== "closed" || !isUsed) {
        return this.#fault(`${way}: ${outcome.ended} without a response`);
      }
      this.races++;
      wire = undefined;
    }
  }

  #fault(sentence: string): undefined {
    this.faults.push(sentence);
  }

  #request(way: Way, user: string, numbers: readonly number[]): string {
    const { writeKey } = this.options;
    const query = `writeKey=${writeKey}&userId=${user}&event=E&properties.n=${numbers[0]}`;
    if (way !== "sdk") {
      return `GET /pixel/v1/track?${query} HTTP/1.1\r\nHost: a\r\n\r\n`;
    }
    const batch = numbers.map((n) => ({
      ...{ type: "track", event: "E", userId: user, properties: { n } },
      messageId: `${user}-${n}`,
    }));
    const body = JSON.stringify({ batch });
    const head = `Host: a\r\nAuthorization: Basic ${btoa(`${writeKey}:`)}\r\nContent-Type: application/json`;
    return `POST /v1/batch HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  }
}
