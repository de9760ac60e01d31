import type { Socket } from "node:net";
import type { ResponseReader } from "./response-reader.ts";
import { type Endpoint, openSocket } from "./socket.ts";

/** The receiver ended the connection. */
export class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
}

interface PendingRequest {
  reader: ResponseReader;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * A connection to a receiver, for one request after the other. It uses node:net: an attempt of
 * `Bun.connect` cannot be given up, and a receiver that swallows packets would hold its socket for
 * two minutes.
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
  #exchange: PendingRequest | undefined;

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

  /** Sends a request and reads its answer. The next request has to wait for that. */
  ask(request: readonly Uint8Array[], reader: ResponseReader): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#isOpen) return reject(new ConnectionClosed("The connection is closed"));
      this.#exchange = { reader, resolve, reject };
      this.#unsent = request;
      if (this.#isReady) this.#send();
    });
  }

  /** Ends the connection at once; a request under way fails with the error. */
  destroy(error?: unknown): void {
    this.#isOpen = false;
    this.#socket.destroy();
    this.#exchange?.reject(error);
    const { onEnd } = this;
    this.onEnd = () => {};
    onEnd();
  }

  #begin(): void {
    this.#isReady = true;
    this.#send();
  }

  #send(): void {
    const [first, second] = this.#unsent;
    this.#unsent = [];
    if (first !== undefined) this.#socket.write(first);
    if (second !== undefined) this.#socket.write(second);
  }

  #receive(piece: Buffer): void {
    const exchange = this.#exchange;
    try {
      // Bytes came although nothing was asked.
      if (exchange === undefined) this.destroy();
      else if (exchange.reader.push(piece)) this.#answered(exchange);
    } catch (error) {
      this.destroy(error);
    }
  }

  #answered({ reader, resolve }: PendingRequest): void {
    this.#exchange = undefined;
    this.isUsed = true;
    // When a part of a request was never sent, the receiver would take the next request for that
    // part.
    if (!reader.isReusable || this.#socket.writableLength > 0) this.destroy();
    resolve();
  }

  /** The receiver has closed its side. */
  #end(): void {
    const exchange = this.#exchange;
    if (exchange?.reader.end()) this.#answered(exchange);
    this.destroy(new ConnectionClosed("The answer ended early"));
  }
}
