import type { Socket } from "bun";
import { assert } from "../assert.ts";
import { HTTP_HEAD_BYTES_MAX, HTTP_WAITING_BYTES_MAX } from "../settings/limits.ts";
import { Body, ENCODED_BODY_BYTES_MAX } from "./body.ts";
import type { EvictableConnection } from "./connection-eviction.ts";
import type { HttpExchange } from "./exchange.ts";
import { canBeginHead, hasBareFeed, head, readHead } from "./head.ts";
import { InputBuffer } from "./input-buffer.ts";
import type { HttpResponse } from "./response.ts";
import type { ServerState } from "./server-state.ts";

/** Kept as bytes, which are found five times as fast as a string. */
const HEAD_END = Buffer.from("\r\n\r\n");
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
/** Most bytes of one request; bytes beyond that belong to the next request. */
const REQUEST_BYTES_MAX = HTTP_HEAD_BYTES_MAX + ENCODED_BODY_BYTES_MAX;
const METHOD_GET = 0x20544547; // "GET " in little endian

/**
 * - reading: waits for a whole request
 * - handling: a response is owed
 * - sending: a response waits for the client to read
 * - closing: our side is closed; further bytes are read and dropped, so that the client can read
 *   our response before its own bytes are refused
 */
type State = "reading" | "handling" | "sending" | "closing" | "closed";

/** One client's connection, which handles its requests one after the other. */
export class HttpConnection implements HttpExchange, EvictableConnection {
  readonly peer: string;
  method = "";
  path = "";
  query = "";
  targetBytes = 0;
  /** Requests that were complete. */
  requests = 0;
  readonly #socket: Socket<HttpConnection>;
  readonly #server: ServerState<HttpConnection>;
  #state: State = "reading";
  /** When the connection began to wait for the client, in `seconds`. */
  #since: number;
  readonly #input = new InputBuffer();
  /** The body of the request at the start of the input, whose head is complete. */
  #body: Body | undefined;
  /** This connection's part of `bufferedBytes`. */
  #counted = 0;
  #paused = false;
  #unsent: Buffer = Buffer.alloc(0);
  /** Whether the connection ends with the response under way; further bytes are dropped. */
  #isLast = false;
  #clientEnded = false;
  #running = false;

  constructor(socket: Socket<HttpConnection>, server: ServerState<HttpConnection>) {
    this.#socket = socket;
    this.#server = server;
    this.#since = server.seconds;
    this.peer = socket.remoteAddress;
  }

  forwardedFor(): string {
    const { forwarded, forwardedLines } = head;
    const lines = Array.from({ length: forwardedLines }, (_, line) =>
      this.#input.bytes.toString("latin1", forwarded[2 * line], forwarded[2 * line + 1]),
    );
    return lines.join(",");
  }

  respond(response: HttpResponse): void {
    if (this.#state !== "handling") return;
    if (this.#server.isStopping) this.#isLast = true;
    this.#since = this.#server.seconds;
    const bytes = response.bytes({
      date: this.#server.date,
      isLast: this.#isLast,
      withoutBody: this.method === "HEAD",
    });
    this.#send(bytes);
  }

  /** Takes received bytes; the connection may change them. */
  receive(chunk: Buffer): void {
    if (this.#isLast) return;
    this.#input.append(chunk);
    this.#run();
    this.#countBuffer();
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
    this.#stopReading();
  }

  /** Whether a response is owed. */
  isBusy(): boolean {
    return this.#state === "handling";
  }

  /** Ends the connection if the client has kept it waiting for longer; returns whether it did. */
  expire(seconds: number): boolean {
    if (this.#state === "handling" || this.#server.seconds - this.#since <= seconds) return false;
    this.end();
    return true;
  }

  /** Ends the connection; at once where the client does not read. */
  end(): void {
    if (this.#state === "reading") this.#socket.end();
    else this.#socket.terminate();
  }

  /** Ends the connection after the response that is owed, or at once when none is. */
  stop(): void {
    if (this.#state === "reading") this.#close();
  }

  /** Handles the complete requests, until a response has to wait. */
  #run(): void {
    this.#running = true;
    while (this.#state === "reading" && this.#input.length > 0 && this.#next());
    this.#running = false;
  }

  /** Handles the next request, or refuses it; false when the request is not complete. */
  #next(): boolean {
    if (this.#body !== undefined) return this.#readBody(this.#body);
    this.#skipEmptyLines();
    const input = this.#input;
    const found = input.bytes.indexOf(HEAD_END, Math.max(input.at, input.searched));
    const end = found + HEAD_END.length;
    if (found < 0 || end > input.end) return this.#keepPartialHead();
    if (end - input.at > HTTP_HEAD_BYTES_MAX) return this.#refuse(431);
    const status = readHead(input.bytes, input.at, end);
    if (status !== 0) return this.#refuse(status);
    if (head.bodyBytes === 0 && !head.isChunked) return this.#take(end);
    const length = head.bodyBytes;
    this.#body = new Body(end - input.at, { isChunked: head.isChunked, length });
    if (head.expectsContinue && end === input.end && this.#body.status === 0) {
      this.#socket.write(CONTINUE);
    }
    return this.#readBody(this.#body);
  }

  /**
   * Keeps a request's body, unread, until it is complete, so that its bytes are counted.
   */
  #readBody(body: Body): boolean {
    const { bytes, at, end } = this.#input;
    const length = body.find(bytes, at, end);
    if (body.status !== 0) return this.#refuse(body.status);
    if (length === 0) return false;
    this.#body = undefined;
    // The shared `head` holds another connection's request by now.
    readHead(bytes, at, at + body.headBytes);
    return this.#take(at + length);
  }

  /** Skips empty lines: some clients end a body with a line too much (RFC 9112 §2.2). */
  #skipEmptyLines(): void {
    const input = this.#input;
    const { bytes } = input;
    while (bytes[input.at] === CR && input.at + 1 < input.end && bytes[input.at + 1] === LF) {
      input.at += 2;
    }
  }

  /** Handles the request whose head was read and that ends at `end`. */
  #take(end: number): true {
    const { bytes } = this.#input;
    assert(end <= this.#input.end, "A request ends within the bytes that came");
    this.#input.at = end;
    this.#state = "handling";
    if (this.requests++ === 0) this.#server.onFirstRequest(this);
    this.#isLast = head.isLast;
    this.method =
      bytes.readUInt32LE(head.methodStart) === METHOD_GET
        ? "GET"
        : bytes.toString("latin1", head.methodStart, head.methodEnd);
    this.path = bytes.toString("latin1", head.pathStart, head.pathEnd) || "/";
    this.query = bytes.toString("latin1", head.queryStart, head.targetEnd);
    this.targetBytes = head.targetEnd - head.pathStart;
    this.#server.handle(this);
    // A connection that waits keeps no text of its last request alive.
    this.path = "";
    this.query = "";
    return true;
  }

  /** Keeps the start of a head until more comes; refuses bytes that cannot become a head. */
  #keepPartialHead(): boolean {
    const { bytes, at, end, searched, length } = this.#input;
    if (length === 0) return false;
    if (length > HTTP_HEAD_BYTES_MAX) return this.#refuse(431);
    const first = bytes[at]!;
    if (!canBeginHead(first) && !(first === CR && length === 1)) return this.#refuse(400);
    if (hasBareFeed(bytes, Math.max(at, searched), end)) return this.#refuse(400);
    this.#input.searched = Math.max(at, end - HEAD_END.length + 1);
    return false;
  }

  #refuse(status: number): true {
    this.#state = "handling";
    this.method = "";
    this.#isLast = true;
    this.respond(this.#server.refusal(status));
    return true;
  }

  /**
   * Counts the bytes that this connection keeps, and stops reading from the socket while they are
   * more than one request: the network's buffers hold the rest.
   */
  #countBuffer(): void {
    const rest = this.#isLast ? 0 : this.#input.length;
    this.#input.shrink(rest);
    const grown = this.#input.bytes.length - this.#counted;
    this.#counted += grown;
    this.#server.bufferedBytes += grown;
    assert(this.#server.bufferedBytes >= 0, "Connections buffer no less than 0 bytes");
    if (grown > 0 && this.#server.bufferedBytes > HTTP_WAITING_BYTES_MAX) {
      this.#refuseForRoom();
      return;
    }
    const isPaused = rest > REQUEST_BYTES_MAX;
    if (isPaused === this.#paused) return;
    this.#paused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Refuses the partial request for want of memory; a response that is owed is still sent. */
  #refuseForRoom(): void {
    if (this.#state === "sending") this.#socket.terminate();
    else if (this.#state === "reading") this.#refuse(503);
    this.#stopReading();
  }

  /** Reads no further request, and frees the buffer. */
  #stopReading(): void {
    this.#isLast = true;
    this.#countBuffer();
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
    // A response sent inside the loop of `#run`: the loop's next turn goes on.
    if (this.#running) return;
    this.#run();
    if (this.#state === "reading" && this.#clientEnded) this.#close();
    this.#countBuffer();
  }

  #close(): void {
    this.#state = "closing";
    this.#stopReading();
    if (this.#clientEnded) this.#socket.end();
    else this.#socket.shutdown();
  }
}
