import type { HostCalls } from "../host-calls/host-calls.ts";
import {
  decodeGuestReply,
  type GuestFrame,
  GuestFrameError,
  GuestFrameReader,
  GuestFrameWriter,
  type JsonTexts,
} from "../protocol/guest-frames.ts";
import type { ExchangeNumber, GuestRequest, HostCallResults } from "../protocol/guest-protocol.ts";
import { type GuestEndCause, GuestEndedError } from "./guest-end.ts";
import type { ProcessUsage } from "./process-usage.ts";

export interface ExchangeLimits {
  cpuMs: number;
  wallMs: number;
  replyBytesMax: number;
  /** Adds up the CPU time that the guest uses during the exchange. */
  meter?: { cpuMs: number };
  /** Whether the time on the clock starts again whenever the guest computes. */
  restartsClockOnCpu?: boolean;
  /** What the code may ask of the network during the exchange; nothing when absent. */
  calls?: HostCalls;
}

export interface GuestExchange extends ExchangeLimits {
  number: number;
  startedAt: number;
  /** What the guest had used when the watch first saw this exchange. */
  atStart?: ProcessUsage;
  /** Since when the guest sleeps, waiting for answers of the network. */
  waitingSince?: number | undefined;
  resolve(frame: GuestFrame): void;
  reject(error: GuestEndedError): void;
}

const field = ({ header }: GuestFrame, name: string): unknown =>
  typeof header === "object" && header !== null ? Reflect.get(header, name) : undefined;

/**
 * Questions to a guest and its answers, in their order. The next question may be on its way while
 * one is being answered, so that neither end waits for the other.
 */
export class GuestChannel {
  readonly #reader = new GuestFrameReader();
  readonly #writer = new GuestFrameWriter();
  /** The exchanges under way: the guest works on the first, the others wait in the socket. */
  readonly #exchanges: GuestExchange[] = [];
  readonly #send: (bytes: Buffer) => void;
  readonly #kill: (close: GuestEndCause) => void;

  /** `send` throws when the guest is gone; `kill` ends it, which calls `end`. */
  constructor(send: (bytes: Buffer) => void, kill: (end: GuestEndCause) => void) {
    this.#send = send;
    this.#kill = kill;
  }

  /** What the guest works on. */
  get current(): GuestExchange | undefined {
    return this.#exchanges[0];
  }

  /** The guest was kept from its work for `ms`, which do not count as its time. */
  extendDeadline(ms: number): void {
    const exchange = this.current;
    if (!exchange || exchange.waitingSince !== undefined) return;
    exchange.startedAt = Math.min(performance.now(), exchange.startedAt + ms);
  }

  request(
    header: GuestRequest,
    body: readonly JsonTexts[],
    allowance: ExchangeLimits,
  ): Promise<GuestFrame> {
    return new Promise((resolve, reject) => {
      const [number] = crypto.getRandomValues(new Uint32Array(1)) as unknown as [number];
      const exchange = { ...allowance, number, startedAt: performance.now(), resolve, reject };
      const numbered: GuestRequest & ExchangeNumber = { ...header, exchange: number };
      try {
        this.#send(this.#writer.write(numbered, body));
        this.#exchanges.push(exchange);
      } catch {
        // The guest died before it was asked this; so this question did not cause its death.
        reject(new GuestEndedError("retired"));
        this.#kill("crash");
      }
    });
  }

  /** Takes a chunk of what the guest says; throws `FrameError` when it breaks the rules. */
  receive(chunk: Uint8Array): void {
    if (!this.#listening) throw new GuestFrameError("Frame that nobody asked for");
    this.#reader.push(chunk);
    const answers: [exchange: GuestExchange, frame: GuestFrame][] = [];
    try {
      this.#readFrames(answers);
    } catch (error) {
      // After a protocol violation, the frames already read from this chunk are not believed
      // either: their exchanges are put back, so that killing the guest rejects them.
      this.#exchanges.unshift(...answers.map(([exchange]) => exchange));
      throw error;
    }
    for (const [exchange, frame] of answers) exchange.resolve(frame);
  }

  #readFrames(answers: [exchange: GuestExchange, frame: GuestFrame][]): void {
    while (this.#listening) {
      const exchange = this.#exchanges[0]!;
      const bytes = this.#reader.next(exchange.replyBytesMax);
      if (!bytes) return;
      const frame = decodeGuestReply(bytes);
      if (field(frame, "exchange") !== exchange.number) {
        throw new GuestFrameError("Answer to another question");
      }
      if (field(frame, "kind") === "wait") this.#wait(exchange, frame.body);
      else {
        answers.push([exchange, frame]);
        this.#exchanges.shift();
        if (this.#exchanges[0]) this.#exchanges[0].startedAt = performance.now();
      }
    }
    if (this.#reader.bufferedBytes > 0) throw new GuestFrameError("Bytes after the frame");
  }

  /** Whether the guest has anything to say now. */
  get #listening(): boolean {
    const [exchange] = this.#exchanges;
    return exchange !== undefined && exchange.waitingSince === undefined;
  }

  /** Time during which the guest waits for the network is not its own. */
  async #wait(exchange: GuestExchange, requests: Buffer): Promise<void> {
    const { calls } = exchange;
    try {
      if (!calls) throw new GuestFrameError("May not wait");
      exchange.waitingSince = performance.now();
      const answers = await calls.exchange(requests);
      if (this.#exchanges[0] !== exchange) return;
      exchange.startedAt += performance.now() - exchange.waitingSince;
      exchange.waitingSince = undefined;
      const header: HostCallResults = { kind: "answers" };
      this.#send(this.#writer.write(header, [answers]));
    } catch (error) {
      this.#kill(error instanceof GuestFrameError ? "violation" : "crash");
    }
  }

  /** The guest has ended; only the exchange under way has to do with the cause. */
  end(end: GuestEndCause): void {
    const [first, ...others] = this.#exchanges.splice(0);
    first?.reject(new GuestEndedError(end));
    for (const exchange of others) exchange.reject(new GuestEndedError("retired"));
  }
}
