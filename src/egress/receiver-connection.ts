import type { Socket } from "node:net";
import { assert } from "../assert.ts";
import type { ResponseReader } from "./response-reader.ts";
import { type Endpoint, openSocket, trueErrorOf } from "./socket.ts";

/** Error of a request whose connection the receiver closed before the response was complete. */
export class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
}

interface PendingRequest {
  reader: ResponseReader;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Connection to a receiver (an HTTP server) that carries one request at a time. Uses node:net,
 * because `Bun.connect` cannot be aborted: if packets were dropped, the socket would stay open for
 * two minutes.
 */
export class ReceiverConnection {
  /** Whether the connection has completed a request. The receiver may have closed it since. */
  isUsed = false;
  /** Whether the connection can carry another request. */
  isOpen = true;
  /** Key of the workspace (tenant) and endpoint. All requests of the connection have this key. */
  readonly key: string;
  /** Certificate authorities (PEM) that the connection trusts; undefined for the default ones. */
  readonly ca: string | undefined;
  readonly #onEnd: (connection: ReceiverConnection) => void;
  readonly #socket: Socket;
  #isReady = false;
  /** Request bytes that are written when the connection becomes ready. */
  #unsent: readonly Uint8Array[] = [];
  #pending: PendingRequest | undefined;

  /** Connects to `endpoint`. Calls `onEnd` with this connection when it is closed. */
  constructor(endpoint: Endpoint, key: string, onEnd: (connection: ReceiverConnection) => void) {
    this.key = key;
    this.ca = endpoint.ca;
    this.#onEnd = onEnd;
    this.#socket = openSocket(endpoint, ["http/1.1"], (error) => {
      if (error !== undefined) return this.destroy(error);
      this.#isReady = true;
      this.#write();
    });
    this.#socket.on("data", (piece: Buffer) => this.#receive(piece));
    this.#socket.on("end", () => this.#end());
    this.#socket.on("error", (error) => this.destroy(trueErrorOf(error)));
    this.#socket.on("close", () => this.#end());
  }

  /**
   * Sends a request. Resolves when `reader` has read the complete response. Until then, the caller
   * must not send another request.
   */
  send(request: readonly Uint8Array[], reader: ResponseReader): Promise<void> {
    return new Promise((resolve, reject) => {
      assert(this.#pending === undefined, "A connection carries one request at a time");
      if (!this.isOpen) return reject(new ConnectionClosed("The connection is closed"));
      this.#pending = { reader, resolve, reject };
      this.#unsent = request;
      if (this.#isReady) this.#write();
    });
  }

  /** Closes the connection at once. A request that waits for its response rejects with `error`. */
  destroy(error?: unknown): void {
    this.isOpen = false;
    this.#socket.destroy();
    this.#pending?.reject(error);
    this.#onEnd(this);
  }

  #write(): void {
    for (const bytes of this.#unsent) this.#socket.write(bytes);
    this.#unsent = [];
  }

  #receive(piece: Buffer): void {
    const pending = this.#pending;
    try {
      // The receiver sent bytes although no request was sent.
      if (pending === undefined) this.destroy();
      else if (pending.reader.push(piece)) this.#complete(pending);
    } catch (error) {
      this.destroy(error);
    }
  }

  #complete({ reader, resolve }: PendingRequest): void {
    this.#pending = undefined;
    this.isUsed = true;
    // If part of the request was not sent, the receiver would read the next request as that part.
    if (!reader.isReusable || this.#socket.writableLength > 0) this.destroy();
    resolve();
  }

  /**
   * Handles the end of the connection. Completes the request in progress if its response ends with
   * the connection, otherwise rejects it.
   */
  #end(): void {
    const pending = this.#pending;
    if (pending?.reader.end()) this.#complete(pending);
    this.destroy(new ConnectionClosed("The response ended early"));
  }
}
