import type { Socket } from "bun";
import { HTTP_BODY_BYTES_PER_SECOND_MIN, SDK_BODY_BYTES_MAX } from "../settings/limits.ts";
import type { HttpExchange } from "./exchange.ts";
import { head, headerValue } from "./head.ts";
import { INCOMPLETE, pathIn, RequestReader } from "./request-reader.ts";
import type { HttpResponse } from "./response.ts";
import type { ServerState } from "./server-state.ts";

const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");
/** Maximum age in seconds at which a new connection counts as about to send its first request. */
const EXPECTED_SECONDS_MAX = 1;
const METHOD_GET = Buffer.from("GET ").readUInt32LE();

/**
 * State of a connection.
 *
 * - reading: waits for a complete request.
 * - handling: has a complete request, whose response is not sent yet.
 * - sending: part of a response waits until the client reads more.
 * - closing: sends nothing more and drops received bytes, because closing the socket at once could
 *   lose the last response.
 */
type State = "reading" | "handling" | "sending" | "closing" | "closed";

/** The connection of one client. It handles one request at a time. */
export class HttpConnection implements HttpExchange {
  readonly peer: string;
  method = "";
  path = "";
  query = "";
  targetBytes = 0;
  hasClientEnded = false;
  /** Number of complete requests that were received so far. */
  requests = 0;
  /**
   * Network of the client. The bytes that this connection buffers are counted for the network.
   * Undefined for a trusted proxy.
   */
  readonly network: string | undefined;
  #state: State = "reading";
  /**
   * Time at which the connection began to wait for its client (for a request, or to read a
   * response), in seconds since the server's start.
   */
  #since: number;
  readonly #reader: RequestReader;
  /** Number of this connection's bytes that `ServerState.buffered` counts at present. */
  #counted = 0;
  #paused = false;
  #unsent: Buffer = Buffer.alloc(0);
  /**
   * Whether the connection closes after the current response. If so, bytes received after the
   * current request are dropped.
   */
  #isLast = false;
  /** Number of bytes that were received and dropped after `#isLast` was set. */
  #dropped = 0;
  #running = false;

  constructor(
    private readonly socket: Socket<HttpConnection>,
    private readonly server: ServerState<HttpConnection>,
  ) {
    this.#since = server.seconds;
    // Contrary to its type, the address is undefined if the client closed the connection before
    // the server accepted it.
    this.peer = (socket.remoteAddress as string | undefined) ?? "";
    this.network = server.networkOf(this.peer);
    this.#reader = new RequestReader(server.bodyBytesMax, (expects) => this.#onBody(expects));
  }

  header(name: string): string | undefined {
    return headerValue(this.#reader.input.bytes, name);
  }

  body(): Buffer {
    return this.#reader.body();
  }

  respond(response: HttpResponse): void {
    if (this.#state !== "handling") return;
    if (this.server.isStopping) this.#isLast = true;
    this.#since = this.server.seconds;
    this.#send(response.bytes(this.server.date, this.#isLast, this.method === "HEAD"));
  }

  /** Handles bytes from the socket. The connection takes over the buffer and may change it. */
  receive(chunk: Buffer): void {
    if (this.#isLast) {
      this.#dropped += chunk.length;
      return;
    }
    this.#reader.append(chunk);
    this.#run();
    this.#countBuffer();
  }

  /** Called when the client can receive more bytes: continues to send the response. */
  drained(): void {
    if (this.#state === "sending") this.#send(this.#unsent);
  }

  /** Called when the client has closed its side. Closes this side if no response is due. */
  ended(): void {
    this.hasClientEnded = true;
    if (this.#state === "reading" || this.#state === "closing") this.#close();
  }

  closed(): void {
    this.#state = "closed";
    this.hasClientEnded = true;
    this.#stopReading();
  }

  /** Whether the connection has a request that was not responded to yet. */
  isBusy(): boolean {
    return this.#state === "handling";
  }

  /** Whether a response is due, or is being sent. */
  isResponding(): boolean {
    return this.isBusy() || this.#state === "sending";
  }

  /**
   * Closes the connection if it has waited for its client for more than `seconds`, and returns
   * whether it did. A request body that arrives at `HTTP_BODY_BYTES_PER_SECOND_MIN` or faster may
   * take longer. So may a refused one, because many clients send the whole body before they read
   * the response.
   */
  expire(seconds: number): boolean {
    if (this.#state === "handling") return false;
    const { isInBody, input } = this.#reader;
    const received = isInBody ? input.length + Math.min(this.#dropped, SDK_BODY_BYTES_MAX) : 0;
    const allowed = seconds + received / HTTP_BODY_BYTES_PER_SECOND_MIN;
    if (this.server.seconds - this.#since <= allowed) return false;
    this.end();
    return true;
  }

  /** Closes the connection at once. The rest of a response that is being sent is dropped. */
  end(): void {
    if (this.#state === "sending") this.socket.terminate();
    else this.socket.end();
  }

  /** Closes the connection. The bytes that were sent before are still delivered. */
  release(): void {
    this.socket.end();
  }

  /**
   * Closes the connection if it waits for a request. Otherwise does nothing: while the server is
   * stopping, each connection is closed after its next response.
   */
  stop(): void {
    if (this.#state === "reading") this.#close();
  }

  /**
   * Whether a request is probably on its way: part of it has arrived, or the connection is at most
   * `EXPECTED_SECONDS_MAX` old and had no request yet.
   */
  isExpecting(): boolean {
    if (this.#state !== "reading") return false;
    if (this.#reader.input.length > 0) return true;
    return this.requests === 0 && this.server.seconds - this.#since <= EXPECTED_SECONDS_MAX;
  }

  /**
   * Handles the complete requests in the input one after another. If a response is not sent
   * completely at once, leaves the requests after it for a later call.
   */
  #run(): void {
    this.#running = true;
    while (this.#state === "reading" && this.#reader.input.length > 0 && this.#next());
    this.#running = false;
  }

  /**
   * Handles or refuses the next request in the input. Returns false if the request is incomplete.
   */
  #next(): boolean {
    const status = this.#reader.next();
    if (status === INCOMPLETE) return false;
    return status === 0 ? this.#take() : this.#refuse(status);
  }

  #onBody(expectsContinue: boolean): void {
    this.#since = this.server.seconds;
    if (expectsContinue) this.socket.write(CONTINUE);
  }

  /** Handles the request that the reader found last. Its parsed head is in `head`. */
  #take(): true {
    const { bytes } = this.#reader.input;
    this.#state = "handling";
    if (this.requests++ === 0) this.server.onFirstRequest(this);
    this.#isLast = head.isLast;
    this.method =
      bytes.readUInt32LE(head.methodStart) === METHOD_GET
        ? "GET"
        : bytes.toString("latin1", head.methodStart, head.methodEnd);
    this.path = pathIn(bytes);
    this.query = bytes.toString("latin1", head.queryStart, head.targetEnd);
    this.targetBytes = head.targetEnd - head.pathStart;
    this.server.handle(this);
    // The texts of the request are cleared, so that a waiting connection does not keep them in
    // memory.
    this.path = "";
    this.query = "";
    return true;
  }

  #refuse(status: number): true {
    this.#state = "handling";
    this.method = "";
    this.#isLast = true;
    const hasHead = this.#reader.readHeadAgain();
    if (hasHead) this.path = pathIn(this.#reader.input.bytes);
    this.respond(this.server.refusal(status, hasHead ? this : undefined));
    this.path = "";
    return true;
  }

  /**
   * Counts the bytes that this connection buffers. Pauses the socket while the input exceeds the
   * size of one request. Calls `#refuseForRoom` if all connections, or those of this network,
   * buffer too many bytes.
   */
  #countBuffer(): void {
    const { input } = this.#reader;
    const rest = this.#isLast ? 0 : input.length;
    input.shrink(rest);
    const grown = input.bytes.length - this.#counted;
    if (grown !== 0) {
      const { buffered } = this.server;
      this.#counted += grown;
      buffered.add(this.network, grown);
      if (grown > 0 && buffered.isOver(this.network, this.#counted)) {
        this.#refuseForRoom();
        return;
      }
    }
    const isPaused = rest > this.#reader.bytesMax;
    if (isPaused === this.#paused) return;
    this.#paused = isPaused;
    if (isPaused) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Stops reading because the connections buffer too many bytes. An incomplete request is refused.
   * A complete request still gets its response. A response of which the client has read only a part
   * is dropped.
   */
  #refuseForRoom(): void {
    if (this.#state === "sending") this.socket.terminate();
    else if (this.#state === "reading") this.#refuse(503);
    this.#stopReading();
  }

  /** Stops reading requests, and frees the memory of the input. */
  #stopReading(): void {
    this.#isLast = true;
    this.#countBuffer();
  }

  #send(bytes: Buffer): void {
    const sent = this.socket.write(bytes);
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
    // If the response was sent during `#run`, the loop of that call takes the next request.
    if (this.#running) return;
    this.#run();
    if (this.#state === "reading" && this.hasClientEnded) this.#close();
    this.#countBuffer();
  }

  #close(): void {
    this.#state = "closing";
    this.#stopReading();
    if (this.hasClientEnded) this.socket.end();
    else this.socket.shutdown();
  }
}
