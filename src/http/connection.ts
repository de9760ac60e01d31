import type { Socket } from "bun";
import { HTTP_HEAD_BYTES_MAX, HTTP_WAITING_BYTES_MAX } from "../settings/limits.ts";
import { Body, ENCODED_BODY_BYTES_MAX } from "./body.ts";
import type { EvictableConnection } from "./connection-eviction.ts";
import { canBeginHead, hasBareFeed, head, readHead } from "./head.ts";
import type { HttpResponse } from "./response.ts";

/** A request that waits for its answer. Its values are valid until the handler returns. */
export interface HttpExchange {
  readonly method: string;
  /** The path of the target as it was sent. */
  readonly path: string;
  /** Raw query without `?`, a character per byte. */
  readonly query: string;
  /** Length of path and query as they were sent. */
  readonly targetBytes: number;
  /** Address of the other end. */
  readonly peer: string;
  /** All lines of `X-Forwarded-For` as one list. */
  forwardedFor(): string;
  /** Answers, at once or later. Does nothing when the client has gone. */
  respond(answer: HttpResponse): void;
}

/** What the connections of one server share. */
export interface ServerState {
  /** Must answer each exchange once, and must not throw. */
  handle(exchange: HttpExchange): void;
  /** A connection has made its first request. */
  onFirstRequest(connection: HttpConnection): void;
  /** The answer to a request that is refused unread: 400, 413, 431, 503 or 505. */
  refusal(status: number): HttpResponse;
  /** Seconds since the server started. */
  seconds: number;
  /** The same moment, as HTTP writes dates. */
  date: string;
  /** Whether the server stops: then every answer ends its connection. */
  isStopping: boolean;
  /** Bytes of the buffers in which connections hold requests. */
  bufferedBytes: number;
}

/** Kept as bytes, which are found five times as fast as a string. */
const HEAD_END = Buffer.from("\r\n\r\n");
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
/** Most bytes of one request; what waits beyond that belongs to the next request. */
const REQUEST_BYTES_MAX = HTTP_HEAD_BYTES_MAX + ENCODED_BODY_BYTES_MAX;
const NOTHING: Buffer = Buffer.alloc(0);
const METHOD_GET = 0x20544547; // "GET " in little endian

/**
 * - reading: waits for a whole request
 * - handling: an answer is owed
 * - sending: an answer waits for the client to read
 * - closing: our side is closed; what still comes is read and dropped, so that the client can read
 *   our answer before its own bytes are refused
 */
type State = "reading" | "handling" | "sending" | "closing" | "closed";

/** One client's connection: its requests one after the other, as they came. */
export class HttpConnection implements HttpExchange, EvictableConnection {
  readonly peer: string;
  method = "";
  path = "";
  query = "";
  targetBytes = 0;
  /** Requests that were complete. */
  requests = 0;
  readonly #socket: Socket<HttpConnection>;
  readonly #shared: ServerState;
  #state: State = "reading";
  /** When the connection began to wait for the client, in `seconds`. */
  #since: number;
  /** The bytes of requests in `[#at, #end)`; no head ends before `#searched`. */
  #input = NOTHING;
  #at = 0;
  #end = 0;
  #searched = 0;
  /** The body of the request at `#at`, whose head is complete. */
  #body: Body | undefined;
  /** This connection's part of `waitingBytes`. */
  #waiting = 0;
  #paused = false;
  #unsent = NOTHING;
  /** Whether the connection ends with the answer under way; what still comes is dropped. */
  #isLast = false;
  #clientEnded = false;
  #running = false;

  constructor(socket: Socket<HttpConnection>, shared: ServerState) {
    this.#socket = socket;
    this.#shared = shared;
    this.#since = shared.seconds;
    this.peer = socket.remoteAddress;
  }

  forwardedFor(): string {
    const { forwarded, forwardedLines } = head;
    const lines = Array.from({ length: forwardedLines }, (_, line) =>
      this.#input.toString("latin1", forwarded[2 * line], forwarded[2 * line + 1]),
    );
    return lines.join(",");
  }

  respond(answer: HttpResponse): void {
    if (this.#state !== "handling") return;
    if (this.#shared.isStopping) this.#isLast = true;
    this.#since = this.#shared.seconds;
    const bytes = answer.bytes({
      date: this.#shared.date,
      isLast: this.#isLast,
      withoutBody: this.method === "HEAD",
    });
    this.#send(bytes);
  }

  /** Takes bytes that came; the connection may change them. */
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

  /** The client takes bytes again. */
  drained(): void {
    if (this.#state === "sending") this.#send(this.#unsent);
  }

  /** The client has closed its side. */
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

  /** Ends the connection when the client has kept it waiting for too long; tells whether it did. */
  expire(seconds: number): boolean {
    if (this.#state === "handling" || this.#shared.seconds - this.#since <= seconds) return false;
    this.end();
    return true;
  }

  /** Ends the connection; at once where the client does not read. */
  end(): void {
    if (this.#state === "reading") this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends the connection after the answer that is owed, or at once when none is. */
  stop(): void {
    if (this.#state === "reading") this.#close();
  }

  /** Handles the complete requests, until an answer has to wait. */
  #run(): void {
    this.#running = true;
    while (this.#state === "reading" && this.#at < this.#end && this.#next());
    this.#running = false;
  }

  /** Handles the request at `#at`, or refuses it; false when the request is not complete. */
  #next(): boolean {
    if (this.#body !== undefined) return this.#readBody(this.#body);
    this.#skipEmptyLines();
    const found = this.#input.indexOf(HEAD_END, Math.max(this.#at, this.#searched));
    const end = found + HEAD_END.length;
    if (found < 0 || end > this.#end) return this.#wait();
    if (end - this.#at > HTTP_HEAD_BYTES_MAX) return this.#refuse(431);
    const status = readHead(this.#input, this.#at, end);
    if (status !== 0) return this.#refuse(status);
    if (head.bodyBytes === 0 && !head.isChunked) return this.#take(end);
    const length = head.bodyBytes;
    this.#body = new Body(end - this.#at, { isChunked: head.isChunked, length });
    if (head.expectsContinue && end === this.#end && this.#body.status === 0) {
      this.#socket.write(CONTINUE);
    }
    return this.#readBody(this.#body);
  }

  /**
   * Keeps a request's body, unread, until it is complete, so that everything that waits is counted.
   */
  #readBody(body: Body): boolean {
    const length = body.find(this.#input, this.#at, this.#end);
    if (body.status !== 0) return this.#refuse(body.status);
    if (length === 0) return false;
    this.#body = undefined;
    // The shared `head` holds another connection's request by now.
    readHead(this.#input, this.#at, this.#at + body.headBytes);
    return this.#take(this.#at + length);
  }

  /** Skips empty lines: some clients end a body with a line too much (RFC 9112 §2.2). */
  #skipEmptyLines(): void {
    const input = this.#input;
    while (input[this.#at] === CR && this.#at + 1 < this.#end && input[this.#at + 1] === LF) {
      this.#at += 2;
    }
  }

  /** Handles the request whose head was read and that ends at `end`. */
  #take(end: number): true {
    const input = this.#input;
    this.#at = end;
    this.#state = "handling";
    if (this.requests++ === 0) this.#shared.onFirstRequest(this);
    this.#isLast = head.isLast;
    this.method =
      input.readUInt32LE(head.methodStart) === METHOD_GET
        ? "GET"
        : input.toString("latin1", head.methodStart, head.methodEnd);
    this.path = input.toString("latin1", head.pathStart, head.pathEnd) || "/";
    this.query = input.toString("latin1", head.queryStart, head.targetEnd);
    this.targetBytes = head.targetEnd - head.pathStart;
    this.#shared.handle(this);
    // A connection that waits keeps no text of its last request alive.
    this.path = "";
    this.query = "";
    return true;
  }

  /** Keeps a part of a head until more comes; refuses it when no head can become of it. */
  #wait(): boolean {
    const bytes = this.#end - this.#at;
    if (bytes === 0) return false;
    if (bytes > HTTP_HEAD_BYTES_MAX) return this.#refuse(431);
    const first = this.#input[this.#at]!;
    if (!canBeginHead(first) && !(first === CR && bytes === 1)) return this.#refuse(400);
    const from = Math.max(this.#at, this.#searched);
    if (hasBareFeed(this.#input, from, this.#end)) return this.#refuse(400);
    this.#searched = Math.max(this.#at, this.#end - HEAD_END.length + 1);
    return false;
  }

  #refuse(status: number): true {
    this.#state = "handling";
    this.method = "";
    this.#isLast = true;
    this.respond(this.#shared.refusal(status));
    return true;
  }

  /**
   * Counts the buffer that stays here. Requests far ahead of their answers are left in the
   * network's buffers.
   */
  #hold(): void {
    const rest = this.#isLast ? 0 : this.#end - this.#at;
    if (rest === 0) this.#input = NOTHING;
    else if (rest < this.#input.length / 2) this.#move(rest);
    const grown = this.#input.length - this.#waiting;
    this.#waiting += grown;
    this.#shared.bufferedBytes += grown;
    if (grown > 0 && this.#shared.bufferedBytes > HTTP_WAITING_BYTES_MAX) {
      this.#shed();
      return;
    }
    const isPaused = rest > REQUEST_BYTES_MAX;
    if (isPaused === this.#paused) return;
    this.#paused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Refuses what waits here for want of room. An answer that is owed is still given. */
  #shed(): void {
    if (this.#state === "sending") this.#socket.terminate();
    else if (this.#state === "reading") this.#refuse(503);
    this.#drop();
  }

  /** Ends the taking of requests. */
  #drop(): void {
    this.#isLast = true;
    this.#hold();
  }

  /** Appends bytes to those that wait. */
  #keep(chunk: Buffer): void {
    const waiting = this.#end - this.#at;
    const length = waiting + chunk.length;
    if (this.#end + chunk.length > this.#input.length || this.#at > 0) {
      this.#move(Math.max(2 * waiting, length));
    }
    chunk.copy(this.#input, this.#end);
    this.#end += chunk.length;
  }

  /** Moves the waiting bytes into a buffer of this length. */
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
    // An answer that is given inside the loop of `#run`: the loop's next turn goes on.
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
