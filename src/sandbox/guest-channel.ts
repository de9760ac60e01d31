import {
  decodeAnswer,
  type Frame,
  FrameError,
  FrameReader,
  FrameWriter,
  type Texts,
} from "./frames.ts";
import { type GuestEnd, GuestGone } from "./guest-end.ts";
import type { HostCalls } from "./host-calls.ts";
import type { Usage } from "./proc.ts";
import type { Answers, Numbered, Request } from "./protocol.ts";

export interface Allowance {
  cpuMs: number;
  wallMs: number;
  replyBytesMax: number;
  /** Adds up the CPU time that the guest uses during the exchange. */
  meter?: { cpuMs: number };
  /** Whether the time on the clock starts again whenever the guest computes. */
  patient?: boolean;
  /** What the code may ask of the network during the exchange; nothing when absent. */
  calls?: HostCalls;
}

export interface Exchange extends Allowance {
  number: number;
  startedAt: number;
  /** What the guest had used when the watch first saw this exchange. */
  atStart?: Usage;
  /** Since when the guest sleeps, waiting for answers of the network. */
  waitingSince?: number | undefined;
  resolve(frame: Frame): void;
  reject(error: GuestGone): void;
}

const field = ({ header }: Frame, name: string): unknown =>
  typeof header === "object" && header !== null ? Reflect.get(header, name) : undefined;

/**
 * Questions to a guest and its answers, in their order. The next question may be on its way while
 * one is being answered, so that neither end waits for the other.
 */
export class GuestChannel {
  readonly #reader = new FrameReader();
  readonly #writer = new FrameWriter();
  /** The exchanges under way: the guest works on the first, the others wait in the socket. */
  readonly #exchanges: Exchange[] = [];
  readonly #send: (bytes: Buffer) => void;
  readonly #kill: (end: GuestEnd) => void;

  /** `send` throws when the guest is gone; `kill` ends it, which calls `end`. */
  constructor(send: (bytes: Buffer) => void, kill: (end: GuestEnd) => void) {
    this.#send = send;
    this.#kill = kill;
  }

  /** What the guest works on. */
  get current(): Exchange | undefined {
    return this.#exchanges[0];
  }

  /** The guest was kept from its work for `ms`, which do not count as its time. */
  delay(ms: number): void {
    const exchange = this.current;
    if (!exchange || exchange.waitingSince !== undefined) return;
    exchange.startedAt = Math.min(performance.now(), exchange.startedAt + ms);
  }

  ask(header: Request, body: readonly Texts[], allowance: Allowance): Promise<Frame> {
    return new Promise((resolve, reject) => {
      const [number] = crypto.getRandomValues(new Uint32Array(1)) as unknown as [number];
      const exchange = { ...allowance, number, startedAt: performance.now(), resolve, reject };
      const numbered: Request & Numbered = { ...header, exchange: number };
      try {
        this.#send(this.#writer.write(numbered, body));
        this.#exchanges.push(exchange);
      } catch {
        // The guest died before it was asked this; so this question did not cause its death.
        reject(new GuestGone("retired"));
        this.#kill("crash");
      }
    });
  }

  /** Takes a chunk of what the guest says; throws `FrameError` when it breaks the rules. */
  received(chunk: Uint8Array): void {
    if (!this.#listening) throw new FrameError("Frame that nobody asked for");
    this.#reader.push(chunk);
    const answers: [exchange: Exchange, frame: Frame][] = [];
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

  #readFrames(answers: [exchange: Exchange, frame: Frame][]): void {
    while (this.#listening) {
      const exchange = this.#exchanges[0]!;
      const bytes = this.#reader.next(exchange.replyBytesMax);
      if (!bytes) return;
      const frame = decodeAnswer(bytes);
      if (field(frame, "exchange") !== exchange.number) {
        throw new FrameError("Answer to another question");
      }
      if (field(frame, "kind") === "wait") this.#wait(exchange, frame.body);
      else {
        answers.push([exchange, frame]);
        this.#exchanges.shift();
        if (this.#exchanges[0]) this.#exchanges[0].startedAt = performance.now();
      }
    }
    if (this.#reader.buffered > 0) throw new FrameError("Bytes after the frame");
  }

  /** Whether the guest has anything to say now. */
  get #listening(): boolean {
    const [exchange] = this.#exchanges;
    return exchange !== undefined && exchange.waitingSince === undefined;
  }

  /** Time during which the guest waits for the network is not its own. */
  async #wait(exchange: Exchange, requests: Buffer): Promise<void> {
    const { calls } = exchange;
    try {
      if (!calls) throw new FrameError("May not wait");
      exchange.waitingSince = performance.now();
      const answers = await calls.exchange(requests);
      if (this.#exchanges[0] !== exchange) return;
      exchange.startedAt += performance.now() - exchange.waitingSince;
      exchange.waitingSince = undefined;
      const header: Answers = { kind: "answers" };
      this.#send(this.#writer.write(header, [answers]));
    } catch (error) {
      this.#kill(error instanceof FrameError ? "violation" : "crash");
    }
  }

  /** The guest has ended; only the exchange under way has to do with the cause. */
  end(end: GuestEnd): void {
    const [first, ...others] = this.#exchanges.splice(0);
    first?.reject(new GuestGone(end));
    for (const exchange of others) exchange.reject(new GuestGone("retired"));
  }
}
