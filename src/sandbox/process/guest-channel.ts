import { assert, InvariantError } from "../../assert.ts";
import type { HostCalls } from "../host-calls/host-calls.ts";
import {
  decodeGuestReply,
  type FrameText,
  type GuestFrame,
  GuestFrameError,
  GuestFrameReader,
  GuestFrameWriter,
  headerField,
} from "../protocol/guest-frames.ts";
import type { ExchangeNumber, HostRequest } from "../protocol/guest-protocol.ts";
import { type GuestEndCause, GuestEndedError } from "./guest-end.ts";
import type { ProcessUsage } from "./process-usage.ts";

export interface ExchangeLimits {
  cpuMs: number;
  wallMs: number;
  replyBytesMax: number;
  /**
   * Counter to which the server adds the CPU time that the guest process uses during the exchange
   * (request and reply).
   */
  meter?: { cpuMs: number };
  /**
   * Whether the wall-clock time of this exchange restarts from zero whenever a measurement finds
   * that the guest process has used CPU time. Then `wallMs` limits only the time without such use.
   */
  restartsClockOnCpu?: boolean;
  /**
   * Performs the host calls of user code (such as `fetch`) during this exchange (request and
   * reply). If absent, user code can make no host calls.
   */
  hostCalls?: HostCalls;
}

export interface GuestExchange extends ExchangeLimits {
  number: number;
  startedAt: number;
  /** CPU and memory use of the guest process at the first measurement during this exchange. */
  usageAtStart?: ProcessUsage;
  /**
   * Time at which the guest process began to wait for results of host calls (functions that the
   * server executes); undefined while it does not wait.
   */
  waitingSince?: number | undefined;
  resolve(frame: GuestFrame): void;
  reject(error: GuestEndedError | InvariantError): void;
}

/**
 * Sends requests to a guest (process that runs user code), and receives its replies in the same
 * order. Requests do not wait for earlier replies, so that neither process waits for the other.
 */
export class GuestChannel {
  readonly #reader = new GuestFrameReader();
  readonly #writer = new GuestFrameWriter();
  /**
   * Exchanges (each a request and its reply) that have no reply yet, in order. The guest process is
   * working on the first one; the requests of the others wait in the socket.
   */
  readonly #exchanges: GuestExchange[] = [];

  /**
   * `send` sends bytes to the guest process, and throws when the guest has closed its socket.
   * `kill` ends the guest process, and also calls `close` of this channel.
   */
  constructor(
    private readonly send: (bytes: Buffer) => void,
    private readonly kill: (cause: GuestEndCause, fault?: InvariantError) => void,
  ) {}

  /** Exchange (request and reply) that the guest is working on; undefined if it has no request. */
  get current(): GuestExchange | undefined {
    return this.#exchanges[0];
  }

  /**
   * Gives the exchange (request and reply) in progress `ms` milliseconds more of wall-clock time,
   * to make up for a pause in which the guest process could not run.
   */
  extendDeadline(ms: number): void {
    const exchange = this.current;
    if (!exchange || exchange.waitingSince !== undefined) return;
    exchange.startedAt = Math.min(performance.now(), exchange.startedAt + ms);
  }

  request(
    header: HostRequest,
    body: readonly FrameText[],
    limits: ExchangeLimits,
  ): Promise<GuestFrame> {
    return new Promise((resolve, reject) => {
      const [number] = crypto.getRandomValues(new Uint32Array(1)) as unknown as [number];
      const exchange = { ...limits, number, startedAt: performance.now(), resolve, reject };
      const numbered: HostRequest & ExchangeNumber = { ...header, exchange: number };
      const frame = this.#writer.write(numbered, body);
      try {
        this.send(frame);
        this.#exchanges.push(exchange);
      } catch {
        // The guest died before it got this request, which therefore did not cause its death.
        reject(new GuestEndedError("retired"));
        this.kill("crash");
      }
    });
  }

  /**
   * Processes bytes from the guest process. Throws `GuestFrameError` when the guest breaks the
   * protocol.
   */
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
      if (headerField(frame, "exchange") !== exchange.number) {
        throw new GuestFrameError("Expected the number of the exchange");
      }
      if (headerField(frame, "kind") === "wait") this.#answerHostCalls(exchange, frame.body);
      else {
        replies.push([exchange, frame]);
        this.#exchanges.shift();
        if (this.#exchanges[0]) this.#exchanges[0].startedAt = performance.now();
      }
    }
    if (this.#reader.bufferedBytes > 0)
      throw new GuestFrameError("Expected no bytes after a frame");
  }

  /**
   * Whether the protocol allows the guest process to send a frame (message): it has a request, and
   * it does not wait for results of host calls.
   */
  get #mayReceive(): boolean {
    const [exchange] = this.#exchanges;
    return exchange !== undefined && exchange.waitingSince === undefined;
  }

  /**
   * Performs host calls of user code (`fetch` and others), and sends the results to the guest
   * process. The guest sleeps until they arrive; its sleep does not count towards its time limit.
   */
  async #answerHostCalls(exchange: GuestExchange, calls: Buffer): Promise<void> {
    const { hostCalls } = exchange;
    try {
      if (!hostCalls) throw new GuestFrameError("Expected no host calls");
      exchange.waitingSince = performance.now();
      const results = await hostCalls.exchange(calls);
      if (this.#exchanges[0] !== exchange) return;
      exchange.startedAt += performance.now() - exchange.waitingSince;
      exchange.waitingSince = undefined;
      this.send(this.#writer.write({ kind: "answers" }, [results]));
    } catch (error) {
      if (error instanceof InvariantError) this.kill("retired", error);
      else this.kill(error instanceof GuestFrameError ? "violation" : "crash");
    }
  }

  /**
   * Rejects all exchanges (requests) without a reply, because the guest process has ended:
   * - the exchange in progress: with `fault` if given, otherwise with a `GuestEndedError` that has
   *   the cause `cause`
   * - exchanges that the guest had not started: with a `GuestEndedError` that has the cause
   *   "retired"
   */
  close(cause: GuestEndCause, fault?: InvariantError): void {
    const [first, ...others] = this.#exchanges.splice(0);
    first?.reject(fault ?? new GuestEndedError(cause));
    for (const exchange of others) exchange.reject(new GuestEndedError("retired"));
  }
}
