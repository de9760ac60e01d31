import type { Socket } from "bun";
import { HTTP_HEAD_BYTES_MAX, HTTP_WAITING_BYTES_MAX } from "../limits.ts";
import type { Answer } from "./answer.ts";
import { canBeginHead, head, readHead } from "./head.ts";
import type { Placed } from "./places.ts";

/** A request whose answer is owed. What it tells counts until its handler returns. */
export interface Exchange {
  readonly method: string;
  /** The path of the target as it was sent. */
  readonly path: string;
  /** Raw query without `?`, a character per byte. */
  readonly query: string;
  /** Length of path and query as they were sent. */
  readonly targetBytes: number;
  /** Address of the other end. */
  readonly peer: string;
  /** The first `X-Forwarded-For`. */
  forwardedFor(): string;
  /** Answers, at once or later. Does nothing when the client has gone. */
  answer(answer: Answer): void;
}

/** What the connections of one server share. */
export interface Shared {
  /** Must answer each exchange once; must not throw. */
  handle(exchange: Exchange): void;
  /** A connection made its first request. */
  asked(connection: Connection): void;
  /** What a client is told whose head is not taken: 400, 431, 503 or 505. */
  refused(status: number): Answer;
  /** Seconds since the server started. */
  seconds: number;
  /** The same moment as HTTP writes it. */
  date: string;
  /** Every answer ends its connection. */
  stopping: boolean;
  /** Bytes of buffers in which connections hold requests. */
  waitingBytes: number;
}

/** As bytes, which are found five times as fast as a string. */
const HEAD_END = Buffer.from("\r\n\r\n");
const NOTHING: Buffer = Buffer.alloc(0);
const METHOD_GET = 0x20544547; // "GET " in little endian

/**
 * - reading: waits for a whole head
 * - handling: an answer is owed
 * - sending: an answer waits for the client to read
 * - closing: our side is closed; what still comes is read and dropped, so that the client can read
 *   our answer before its own bytes are refused
 */
type State = "reading" | "handling" | "sending" | "closing" | "closed";

/** One client's connection: its requests one after the other, as they came. */
export class Connection implements Exchange, Placed {
  readonly peer: string;
  method = "";
  path = "";
  query = "";
  targetBytes = 0;
  /** How many came whole. */
  requests = 0;
  readonly #socket: Socket<Connection>;
  readonly #shared: Shared;
  #state: State = "reading";
  /** When it began to wait for the client. */
  #since: number;
  /** Bytes of requests in `[#at, #end)`; up to `#searched` no head ends. */
  #input = NOTHING;
  #at = 0;
  #end = 0;
  #searched = 0;
  /** How many of `waitingBytes` are here. */
  #waiting = 0;
  #paused = false;
  #unsent = NOTHING;
  /** Whether the connection ends with the answer under way; what still comes is dropped. */
  #isLast = false;
  #clientEnded = false;
  #running = false;

  constructor(socket: Socket<Connection>, shared: Shared) {
    this.#socket = socket;
    this.#shared = shared;
    this.#since = shared.seconds;
    this.peer = socket.remoteAddress;
  }

  forwardedFor(): string {
    return this.#input.toString("latin1", head.forwardedStart, head.forwardedEnd);
  }

  answer(answer: Answer): void {
    if (this.#state !== "handling") return;
    if (this.#shared.stopping) this.#isLast = true;
    this.#since = this.#shared.seconds;
    const bytes = answer.bytes({
      date: this.#shared.date,
      isLast: this.#isLast,
      withoutBody: this.method === "HEAD",
    });
    this.#send(bytes);
  }

  /** Bytes came; they are the connection's own from now on. */
  receive(chunk: Buffer): void {
    if (this.#isLast) return;
    if (this.#at === this.#end) {
      this.#input = chunk;
      this.#at = 0;
      this.#searched = 0;
      this.#end = chunk.length;
    } else {
      this.#keep(chunk);
    }
    this.#run();
    this.#hold();
  }

  /** The client reads again. */
  drained(): void {
    if (this.#state === "sending") this.#send(this.#unsent);
  }

  /** The client sends no more. */
  ended(): void {
    this.#clientEnded = true;
    if (this.#state === "reading" || this.#state === "closing") this.#close();
  }

  closed(): void {
    this.#state = "closed";
    this.#drop();
  }

  /** Whether an answer is owed. */
  isBusy(): boolean {
    return this.#state === "handling";
  }

  /** Ends the connection if it has waited for its client for longer; tells whether. */
  expire(seconds: number): boolean {
    if (this.#state === "handling" || this.#shared.seconds - this.#since <= seconds) return false;
    this.end();
    return true;
  }

  /** Ends the connection, at once where its client does not read. */
  end(): void {
    if (this.#state === "reading") this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends the connection unless an answer is owed, which then ends it. */
  stop(): void {
    if (this.#state === "reading") this.#close();
  }

  /** Handles the requests that came whole, until one has to wait. */
  #run(): void {
    this.#running = true;
    while (this.#state === "reading" && this.#at < this.#end) {
      const found = this.#input.indexOf(HEAD_END, Math.max(this.#at, this.#searched));
      if (found < 0 || found + HEAD_END.length > this.#end) {
        this.#wait();
        break;
      }
      this.#take(found + HEAD_END.length);
    }
    this.#running = false;
  }

  /** Handles the request whose head ends here. */
  #take(end: number): void {
    const status =
      end - this.#at > HTTP_HEAD_BYTES_MAX ? 431 : readHead(this.#input, this.#at, end);
    this.#at = end;
    this.#state = "handling";
    if (this.requests++ === 0) this.#shared.asked(this);
    if (status !== 0) {
      this.#refuse(status);
      return;
    }
    const input = this.#input;
    this.#isLast = head.isLast;
    this.method =
      input.readUInt32LE(head.methodStart) === METHOD_GET
        ? "GET"
        : input.toString("latin1", head.methodStart, head.methodEnd);
    this.path = input.toString("latin1", head.pathStart, head.pathEnd);
    this.query = input.toString("latin1", head.queryStart, head.targetEnd);
    this.targetBytes = head.targetEnd - head.pathStart;
    this.#shared.handle(this);
    // A connection that waits holds nothing of its last request.
    this.path = "";
    this.query = "";
  }

  /** A part of a head stays until more comes. */
  #wait(): void {
    const bytes = this.#end - this.#at;
    if (bytes > HTTP_HEAD_BYTES_MAX) this.#refuse(431);
    else if (!canBeginHead(this.#input[this.#at]!)) this.#refuse(400);
    else this.#searched = Math.max(this.#at, this.#end - HEAD_END.length + 1);
  }

  #refuse(status: number): void {
    this.#state = "handling";
    this.method = "";
    this.#isLast = true;
    this.answer(this.#shared.refused(status));
  }

  /** Counts the buffer that stays here. Requests far ahead of their answers wait in the network. */
  #hold(): void {
    const rest = this.#isLast ? 0 : this.#end - this.#at;
    if (rest === 0) this.#input = NOTHING;
    else if (rest < this.#input.length / 2) this.#move(rest);
    const grown = this.#input.length - this.#waiting;
    this.#waiting += grown;
    this.#shared.waitingBytes += grown;
    if (grown > 0 && this.#shared.waitingBytes > HTTP_WAITING_BYTES_MAX) {
      this.#shed();
      return;
    }
    const isPaused = rest > HTTP_HEAD_BYTES_MAX;
    if (isPaused === this.#paused) return;
    this.#paused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** There is no room for what waits here. An answer that is owed is still given. */
  #shed(): void {
    if (this.#state === "sending") this.#socket.terminate();
    else if (this.#state === "reading") this.#refuse(503);
    this.#drop();
  }

  /** No further request is taken. */
  #drop(): void {
    this.#isLast = true;
    this.#hold();
  }

  /** Keeps bytes behind those that wait. */
  #keep(chunk: Buffer): void {
    const waiting = this.#end - this.#at;
    const length = waiting + chunk.length;
    if (this.#end + chunk.length > this.#input.length || this.#at > 0) {
      this.#move(Math.max(2 * waiting, length));
    }
    chunk.copy(this.#input, this.#end);
    this.#end += chunk.length;
  }

  /** Moves what waits into a buffer of this length. */
  #move(length: number): void {
    const moved = Buffer.allocUnsafeSlow(length);
    this.#input.copy(moved, 0, this.#at, this.#end);
    this.#input = moved;
    this.#searched = Math.max(0, this.#searched - this.#at);
    this.#end -= this.#at;
    this.#at = 0;
  }

  #send(bytes: Buffer): void {
    const sent = this.#socket.write(bytes);
    if (sent < 0) {
      this.#close();
    } else if (sent < bytes.length) {
      this.#state = "sending";
      this.#unsent = bytes.subarray(sent);
    } else if (this.#isLast) {
      this.#close();
    } else {
      this.#state = "reading";
      this.#resume();
    }
  }

  #resume(): void {
    // An answer inside the loop: its next turn goes on.
    if (this.#running) return;
    this.#run();
    if (this.#state === "reading" && this.#clientEnded) this.#close();
    this.#hold();
  }

  #close(): void {
    this.#state = "closing";
    this.#drop();
    if (this.#clientEnded) this.#socket.end();
    else this.#socket.shutdown();
  }
}
