import type { Socket } from "bun";

/** Outcome of a request: the status of its response, or how the connection ended without one. */
export type Outcome = { status: number } | { ended: "closed" | "reset" | "refused" };

/**
 * Connection of a client to the data plane. Unlike `fetch`, it never repeats a request by itself,
 * and it tells a reset apart from an orderly end.
 */
export class Wire {
  #socket: Socket | undefined;
  #received = "";
  #pending: ((outcome: Outcome) => void) | undefined;
  #ended: "closed" | "reset" | undefined;
  /** Number of responses on this connection. */
  responses = 0;

  /** Connects to a port of this machine. Resolves with false when the connection is refused. */
  async open(port: number): Promise<boolean> {
    try {
      this.#socket = await Bun.connect({
        hostname: "127.0.0.1",
        port,
        socket: {
          data: (_, chunk) => this.#receive(chunk),
          end: (socket) => {
            this.#end("closed");
            socket.end();
          },
          close: (_, error) => this.#end(error === undefined ? "closed" : "reset"),
          error: () => this.#end("reset"),
        },
      });
      return true;
    } catch {
      return false;
    }
  }

  /** Whether another request can be sent. */
  isOpen(): boolean {
    return this.#socket !== undefined && this.#ended === undefined;
  }

  /** Sends a request. Resolves when its response is complete, or when the connection has ended. */
  request(bytes: string): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#pending = resolve;
    if (this.#ended !== undefined) this.#settle({ ended: this.#ended });
    else this.#socket!.write(bytes);
    return promise;
  }

  close(): void {
    this.#socket?.end();
  }

  #receive(chunk: Buffer): void {
    this.#received += chunk.toString("latin1");
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#received.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < end + 4 + length) return;
    this.#received = this.#received.slice(end + 4 + length);
    this.responses++;
    if (/\r\nconnection: close/i.test(head)) this.#ended = "closed";
    this.#settle({ status: Number(head.slice(9, 12)) });
  }

  #end(how: "closed" | "reset"): void {
    if (this.#ended !== "closed") this.#ended = how;
    this.#settle({ ended: how });
  }

  #settle(outcome: Outcome): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.(outcome);
  }
}
