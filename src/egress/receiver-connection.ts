import type { Socket } from "node:net";
import { assert } from "../assert.ts";
import type { ResponseReader } from "./response-reader.ts";
import { type Endpoint, openSocket } from "./socket.ts";

/** The receiver closed the connection. */
export class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
}

interface PendingRequest {
  reader: ResponseReader;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * A connection to a receiver that carries one request after the other. It uses node:net: an attempt
 * of `Bun.connect` cannot be aborted, so that a receiver that drops packets would hold its socket
 * for two minutes.
 */
export class ReceiverConnection {
  /** Whether the connection has carried a request. */
  isUsed = false;
  /** Called once, when the connection ends. */
  onEnd: () => void = () => {};
  readonly #socket: Socket;
  #isReady = false;
  #isOpen = true;
  /** Bytes to write once the connection is ready. */
  #unsent: readonly Uint8Array[] = [];
  #pending: PendingRequest | undefined;

  constructor(endpoint: Endpoint) {
    this.#socket = openSocket(endpoint, ["http/1.1"], (error) => {
      if (error === undefined) this.#begin();
      else this.destroy(error);
    });
    this.#socket.on("data", (piece: Buffer) => this.#receive(piece));
    this.#socket.on("end", () => this.#end());
    this.#socket.on("error", (error) => this.destroy(error));
    this.#socket.on("close", () => this.#end());
  }

  /** Whether the connection can carry a request; `onEnd` is called when it no longer can. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a request and reads its response. The next request must wait until then. */
  send(request: readonly Uint8Array[], reader: ResponseReader): Promise<void> {
    return new Promise((resolve, reject) => {
      assert(this.#pending === undefined, "A connection carries one request at a time");
      if (!this.#isOpen) return reject(new ConnectionClosed("The connection is closed"));
      this.#pending = { reader, resolve, reject };
      this.#unsent = request;
      if (this.#isReady) this.#write();
    });
  }

  /** Closes the connection at once; a request under way fails with the error. */
  destroy(error?: unknown): void {
    this.#isOpen = false;
    this.#socket.destroy();
    this.#pending?.reject(error);
    const { onEnd } = this;
    this.onEnd = () => {};
    onEnd();
  }

  #begin(): void {
    this.#isReady = true;
    this.#write();
  }

  #write(): void {
    const [first, second] = this.#unsent;
    this.#unsent = [];
    if (first !== undefined) this.#socket.write(first);
    if (second !== undefined) this.#socket.write(second);
  }

  #receive(piece: Buffer): void {
    const pending = this.#pending;
    try {
      // The receiver sent bytes without a request.
      if (pending === undefined) this.destroy();
      else if (pending.reader.push(piece)) this.#complete(pending);
    } catch (error) {
      this.destroy(error);
    }
  }

  #complete({ reader, resolve }: PendingRequest): void {
    this.#pending = undefined;
    this.isUsed = true;
    // If part of the request was never sent, the receiver would read the next request as that part.
    if (!reader.isReusable || this.#socket.writableLength > 0) this.destroy();
    resolve();
  }

  /** The receiver has closed its side. */
  #end(): void {
    const pending = this.#pending;
    if (pending?.reader.end()) this.#complete(pending);
    this.destroy(new ConnectionClosed("The response ended early"));
  }
}
