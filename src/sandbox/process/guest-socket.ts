import { FFIType, ptr, read } from "bun:ffi";
import { getSystemErrorName } from "node:util";
import type { Socket } from "bun";
import { libcFunctions } from "../../libc.ts";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;

/** Callbacks of the socket to a guest process. They must not throw. */
export interface GuestSocketEvents {
  /**
   * Called with each chunk that arrives. The callback may keep the chunk, since its memory is not
   * reused.
   */
  onChunk(chunk: Buffer): void;
  /** Called when the guest process has closed its end of the socket or has ended. */
  onEnd(): void;
}

/**
 * The server's end of the socket to a guest (process that runs user code). A socket pair is used,
 * because the pipes of `Bun.spawn` need three calls of `epoll_ctl`, two empty reads and six
 * promises for each request and reply.
 */
export class GuestSocket {
  #socket: Socket | undefined;
  /** Bytes that the kernel has not accepted yet, in order. */
  readonly #unsent: Buffer[] = [];

  /**
   * Opens the server's end of a socket pair that `socketPair` created; `fd` is its file descriptor.
   * Closing the socket closes `fd`.
   */
  constructor(fd: number, events: GuestSocketEvents) {
    const options = {
      fd,
      socket: {
        open: (socket: Socket) => {
          this.#socket = socket;
          this.#sendRest();
        },
        data: (_: Socket, chunk: Buffer) => events.onChunk(chunk),
        drain: () => this.#sendRest(),
        close: () => events.onEnd(),
      },
    };
    // The option `fd` is missing in Bun's types.
    Bun.connect(options as unknown as Bun.UnixSocketOptions).catch(() => events.onEnd());
  }

  /**
   * Sends bytes. The caller may reuse `bytes` as soon as this returns. Throws when the guest
   * process has closed its end of the socket.
   */
  send(bytes: Buffer): void {
    const sent = this.#socket && this.#unsent.length === 0 ? this.#socket.write(bytes) : 0;
    if (sent < 0) throw new Error("Guest has closed its socket");
    if (sent < bytes.length) this.#unsent.push(Buffer.from(bytes.subarray(sent)));
  }

  /** Closes the socket at once. Bytes that were not sent yet are dropped. */
  close(): void {
    this.#socket?.terminate();
  }

  #sendRest(): void {
    for (let [bytes] = this.#unsent; bytes; [bytes] = this.#unsent) {
      const sent = this.#socket!.write(bytes);
      if (sent < bytes.length) {
        // An error of sending to a guest that is gone: the end of its socket is reported too.
        if (sent > 0) this.#unsent[0] = bytes.subarray(sent);
        return;
      }
      this.#unsent.shift();
    }
  }
}

/**
 * Creates two connected sockets, and returns their file descriptors. A child process inherits a
 * socket only when the socket is passed to it explicitly. Throws the system's error.
 */
export function socketPair(): [host: number, guest: number] {
  const { socketpair, __errno_location } = open();
  const fds = new Int32Array(2);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ptr(fds)) === 0) return [fds[0]!, fds[1]!];
  const code = getSystemErrorName(-read.i32(__errno_location()!, 0));
  throw Object.assign(new Error(`Cannot create a pair of sockets: ${code}`), { code });
}

const open = libcFunctions({
  socketpair: {
    args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr],
    returns: FFIType.i32,
  },
  __errno_location: { args: [], returns: FFIType.ptr },
});
