import { assert, InvariantError } from "../../assert.ts";
import type { HostCalls } from "../host-calls/host-calls.ts";
import {
  decodeGuestReply,
  type GuestFrame,
  GuestFrameError,
  GuestFrameReader,
  GuestFrameWriter,
  type JsonTexts,
} from "../protocol/guest-frames.ts";
import type { ExchangeNumber, HostCallResults, HostRequest } from "../protocol/guest-protocol.ts";
import { type GuestEndCause, GuestEndedError } from "./guest-end.ts";
import type { ProcessUsage } from "./process-usage.ts";

export interface ExchangeLimits {
  cpuMs: number;
  wallMs: number;
  replyBytesMax: number;
  /** Adds up the CPU time that the guest uses during the exchange. */
  meter?: { cpuMs: number };
  /** Whether the time on the clock starts again whenever the guest uses CPU time. */
  restartsClockOnCpu?: boolean;
  /** Host functions that the code may call during the exchange; none when absent. */
  hostCalls?: HostCalls;
}

export interface GuestExchange extends ExchangeLimits {
  number: number;
  startedAt: number;
  /** Usage of the guest when the monitor first measured during this exchange. */
  usageAtStart?: ProcessUsage;
  /** Since when the guest sleeps, waiting for results of host calls. */
  waitingSince?: number | undefined;
  resolve(frame: GuestFrame): void;
  reject(error: GuestEndedError | InvariantError): void;
}

const field = ({ header }: GuestFrame, name: string): unknown =>
  typeof header === "object" && header !== null ? Reflect.get(header, name) : undefined;

/**
 * Requests to a guest and its replies, in order. The next request may be on its way while one is
 * being answered, so that neither end waits for the other.
 */
export class GuestChannel {
  readonly #reader = new GuestFrameReader();
  readonly #writer = new GuestFrameWriter();
  /** The exchanges under way: the guest works on the first, the others wait in the socket. */
  readonly #exchanges: GuestExchange[] = [];
  readonly #send: (bytes: Buffer) => void;
  readonly #kill: (cause: GuestEndCause, fault?: InvariantError) => void;

  /** `send` throws when the guest is gone; `kill` ends it, which calls `close`. */
  constructor(
    send: (bytes: Buffer) => void,
    kill: (cause: GuestEndCause, fault?: InvariantError) => void,
  ) {
    this.#send = send;
    this.#kill = kill;
  }

  /** The exchange that the guest works on. */
  get current(): GuestExchange | undefined {
    return this.#exchanges[0];
  }

  /** Leaves `ms` out of the guest's time, during which it could not work. */
  extendDeadline(ms: number): void {
    const exchange = this.current;
    if (!exchange || exchange.waitingSince !== undefined) return;
    exchange.startedAt = Math.min(performance.now(), exchange.startedAt + ms);
  }

  request(
    header: HostRequest,
    body: readonly JsonTexts[],
    limits: ExchangeLimits,
  ): Promise<GuestFrame> {
    return new Promise((resolve, reject) => {
      const [number] = crypto.getRandomValues(new Uint32Array(1)) as unknown as [number];
      const exchange = { ...limits, number, startedAt: performance.now(), resolve, reject };
      const numbered: HostRequest & ExchangeNumber = { ...header, exchange: number };
      const frame = this.#writer.write(numbered, body);
      try {
        this.#send(frame);
        this.#exchanges.push(exchange);
      } catch {
        // The guest died before it got this request, which therefore did not cause its death.
        reject(new GuestEndedError("retired"));
        this.#kill("crash");
      }
    });
  }

  /** Takes a chunk from the guest; throws `GuestFrameError` when it breaks the protocol. */
  receive(chunk: Uint8Array): void {
    if (!this.#mayReceive) throw new GuestFrameError("Expected no frame without a request");
    this.#reader.push(chunk);
    const replies: [exchange: GuestExchange, frame: GuestFrame][] = [];
    try {
      this.#readFrames(replies);
    } catch (error) {
      // After a protocol violation, the frames already read from this chunk are not believed
      // either: their exchanges are put back, so that killing the guest rejects them.
      this.#exchanges.unshift(...replies.map(([exchange]) => exchange));
      throw error;
    }
    for (const [exchange, frame] of replies) exchange.resolve(frame);
  }

  #readFrames(replies: [exchange: GuestExchange, frame: GuestFrame][]): void {
    while (this.#mayReceive) {
      const exchange = this.#exchanges[0]!;
      const bytes = this.#reader.next(exchange.replyBytesMax);
      if (!bytes) return;
      assert(
        bytes.length <= exchange.replyBytesMax,
        "A frame of a guest fits the exchange's bound before it is parsed",
      );
      const frame = decodeGuestReply(bytes);
      if (field(frame, "exchange") !== exchange.number) {
        throw new GuestFrameError("Expected the number of the exchange");
      }
      if (field(frame, "kind") === "wait") this.#answerHostCalls(exchange, frame.body);
      else {
        replies.push([exchange, frame]);
        this.#exchanges.shift();
        if (this.#exchanges[0]) this.#exchanges[0].startedAt = performance.now();
      }
    }
    if (this.#reader.bufferedBytes > 0)
      throw new GuestFrameError("Expected no bytes after a frame");
  }

  /** Whether the guest may send a frame now. */
  get #mayReceive(): boolean {
    const [exchange] = this.#exchanges;
    return exchange !== undefined && exchange.waitingSince === undefined;
  }

  /** Performs the host calls of a guest that sleeps meanwhile; the wait does not count as its time. */
  async #answerHostCalls(exchange: GuestExchange, calls: Buffer): Promise<void> {
    const { hostCalls } = exchange;
    try {
      if (!hostCalls) throw new GuestFrameError("Expected no host calls");
      exchange.waitingSince = performance.now();
      const results = await hostCalls.exchange(calls);
      if (this.#exchanges[0] !== exchange) return;
      exchange.startedAt += performance.now() - exchange.waitingSince;
      exchange.waitingSince = undefined;
      const header: HostCallResults = { kind: "answers" };
      this.#send(this.#writer.write(header, [results]));
    } catch (error) {
      if (error instanceof InvariantError) this.#kill("retired", error);
      else this.#kill(error instanceof GuestFrameError ? "violation" : "crash");
    }
  }

  /**
   * Rejects all exchanges since the guest has ended, with the cause for the one under way alone. A
   * fault of the host rejects that one with itself.
   */
  close(cause: GuestEndCause, fault?: InvariantError): void {
    const [first, ...others] = this.#exchanges.splice(0);
    first?.reject(fault ?? new GuestEndedError(cause));
    for (const exchange of others) exchange.reject(new GuestEndedError("retired"));
  }
}
