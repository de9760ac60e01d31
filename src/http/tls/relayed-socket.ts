import type { Socket } from "bun";
import { IDLE_CONNECTION_SECONDS_MAX } from "../../settings/limits.ts";

/**
 * One of the two sockets of a relayed connection, with the bytes that this socket could not send
 * yet. While such bytes wait, reading from the other one of the two sockets is paused.
 */
export class RelayedSocket {
  #socket: Socket<unknown> | undefined;
  #unsent: Buffer[] = [];
  /**
   * Step that `#flush` takes once all waiting bytes are sent: `finish` ends this socket's sending
   * direction, `close` closes the socket. The value is undefined while more bytes may follow.
   */
  #after: "finish" | "close" | undefined;
  #isTerminated = false;

  /**
   * Called when the socket is open: stores it in this object, and sends the bytes that wait for it.
   * When all of them are sent, resumes reading from `other`, where these bytes came from.
   */
  attach(socket: Socket<unknown>, other: RelayedSocket): void {
    this.#socket = socket;
    if (this.#isTerminated) socket.terminate();
    else this.drained(other);
  }

  /**
   * Sends bytes that came from the socket `other`. Pauses `other` if some of the bytes must wait.
   */
  send(bytes: Buffer, other: RelayedSocket): void {
    const sent = this.#unsent.length > 0 ? 0 : this.#write(bytes);
    if (sent === bytes.length) return;
    this.#unsent.push(bytes.subarray(sent));
    other.#socket?.pause();
  }

  /** Called when this socket accepts more: sends waiting bytes; resumes `other` if all are sent. */
  drained(other: RelayedSocket): void {
    if (this.#flush()) other.#socket?.resume();
  }

  /** Ends the sending direction of this socket after all waiting bytes are sent. */
  finish(): void {
    this.#after ??= "finish";
    this.#flush();
  }

  /**
   * Closes the connection after all waiting bytes are sent, but at the latest after
   * `IDLE_CONNECTION_SECONDS_MAX`. Bytes that still wait then are dropped.
   */
  close(): void {
    this.#after = "close";
    if (this.#flush() || this.#isTerminated) return;
    setTimeout(() => this.terminate(), 1_000 * IDLE_CONNECTION_SECONDS_MAX).unref();
  }

  /** Calls `close` after `IDLE_CONNECTION_SECONDS_MAX`; no effect if the peer has closed first. */
  closeLater(): void {
    setTimeout(() => this.close(), 1_000 * IDLE_CONNECTION_SECONDS_MAX).unref();
  }

  /** Closes the connection at once, and drops waiting bytes. */
  terminate(): void {
    this.#isTerminated = true;
    this.#unsent = [];
    this.#socket?.terminate();
  }

  /** Sends waiting bytes. Returns whether all are sent. */
  #flush(): boolean {
    if (this.#socket === undefined) return false;
    while (this.#unsent.length > 0) {
      const [first] = this.#unsent as [Buffer];
      const sent = this.#write(first);
      if (sent < first.length) {
        this.#unsent[0] = first.subarray(sent);
        return false;
      }
      this.#unsent.shift();
    }
    if (this.#after === "close") this.#socket.end();
    else if (this.#after === "finish") this.#socket.shutdown();
    return true;
  }

  #write(bytes: Buffer): number {
    return Math.max(0, this.#socket?.write(bytes) ?? 0);
  }
}
