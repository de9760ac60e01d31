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

/** The empty line after a request head, as bytes: five times as fast to search for as a string. */
const HEAD_END = Buffer.from("\r\n\r\n");
const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
/** Largest size of one request in bytes. Bytes beyond it belong to the next request. */
const REQUEST_BYTES_MAX = HTTP_HEAD_BYTES_MAX + ENCODED_BODY_BYTES_MAX;
const METHOD_GET = 0x20544547; // "GET " in little endian

/**
 * State of a connection.
 *
 * - reading: it waits for a complete request.
 * - handling: a request is complete and its response was not sent yet.
 * - sending: part of a response waits until the client reads more.
 * - closing: the server's side is closed. Received bytes are dropped, so that the client can read
 *   the last response before its own bytes are refused.
 */
type State = "reading" | "handling" | "sending" | "closing" | "closed";

/** The connection of one client. It handles one request at a time. */
export class HttpConnection implements HttpExchange, EvictableConnection {
  readonly peer: string;
  method = "";
  path = "";
  query = "";
  targetBytes = 0;
  /** Number of complete requests that were received so far. */
  requests = 0;
  readonly #socket: Socket<HttpConnection>;
  readonly #server: ServerState<HttpConnection>;
  #state: State = "reading";
  /** Seconds since the server's start at which the connection began to wait for its client. */
  #since: number;
  readonly #input = new InputBuffer();
  /** Finds the end of the current request's body; undefined while the head is incomplete. */
  #body: Body | undefined;
  /** Number of bytes that this connection has added to `ServerState.bufferedBytes`. */
  #counted = 0;
  #paused = false;
  #unsent: Buffer = Buffer.alloc(0);
  /** Whether the connection closes after the current response and drops later bytes. */
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

  /** Handles received bytes. The connection takes over the buffer and may change it. */
  receive(chunk: Buffer): void {
    if (this.#isLast) return;
    this.#input.append(chunk);
    this.#run();
    this.#countBuffer();
  }

  /** Called when the client can receive more bytes: continues to send the response. */
  drained(): void {
    if (this.#state === "sending") this.#send(this.#unsent);
  }

  /** Called when the client has closed its side of the connection. */
  ended(): void {
    this.#clientEnded = true;
    if (this.#state === "reading" || this.#state === "closing") this.#close();
  }

  closed(): void {
    this.#state = "closed";
    this.#stopReading();
  }

  /** Whether the connection has a request that was not responded to yet. */
  isBusy(): boolean {
    return this.#state === "handling";
  }

  /**
   * Closes the connection if it waited for its client for over `seconds`. Returns whether it did.
   */
  expire(seconds: number): boolean {
    if (this.#state === "handling" || this.#server.seconds - this.#since <= seconds) return false;
    this.end();
    return true;
  }

  /** Closes the connection. Drops unsent bytes of a response when the client does not read them. */
  end(): void {
    if (this.#state === "reading") this.#socket.end();
    else this.#socket.terminate();
  }

  /** Closes the connection after the current response, or at once when there is no request. */
  stop(): void {
    if (this.#state === "reading") this.#close();
  }

  /** Handles complete requests in the input, until a request does not get its response at once. */
  #run(): void {
    this.#running = true;
    while (this.#state === "reading" && this.#input.length > 0 && this.#next());
    this.#running = false;
  }

  /** Handles or refuses the next request in the input; returns false when it is incomplete. */
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
   * Keeps a request with a body in the input until all of the body was received. Its bytes count as
   * buffered; their content is ignored.
   */
  #readBody(body: Body): boolean {
    const { bytes, at, end } = this.#input;
    const length = body.find(bytes, at, end);
    if (body.status !== 0) return this.#refuse(body.status);
    if (length === 0) return false;
    this.#body = undefined;
    // The shared object `head` may meanwhile describe a request of another connection.
    readHead(bytes, at, at + body.headBytes);
    return this.#take(at + length);
  }

  /** Skips the empty lines that some clients send after a body (RFC 9112 §2.2). */
  #skipEmptyLines(): void {
    const input = this.#input;
    const { bytes } = input;
    while (bytes[input.at] === CR && input.at + 1 < input.end && bytes[input.at + 1] === LF) {
      input.at += 2;
    }
  }

  /** Handles the request with the parsed head `head` that ends before `end` in the input. */
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
    // The texts of the request are cleared, so that a waiting connection does not keep them in
    // memory.
    this.path = "";
    this.query = "";
    return true;
  }

  /**
   * Keeps an incomplete head (request line and headers) in the input until more bytes are received.
   * Refuses the request when the bytes cannot become a valid head.
   */
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
   * Updates the number of bytes that are buffered. Pauses reading from the socket while the input
   * has more bytes than one request may have, so that the rest waits in the network's buffers.
   * Refuses the request when all connections together buffer too many bytes.
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

  /**
   * Refuses an incomplete request because the connections buffer too many bytes. When a complete
   * request waits for its response, the response is still sent.
   */
  #refuseForRoom(): void {
    if (this.#state === "sending") this.#socket.terminate();
    else if (this.#state === "reading") this.#refuse(503);
    this.#stopReading();
  }

  /** Stops reading requests, and frees the input's memory. */
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
    // When the response is sent during `#run`, the loop there continues with the next request.
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
