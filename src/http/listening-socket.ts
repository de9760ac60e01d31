import { FFIType } from "bun:ffi";
import { listenError } from "../errors.ts";
import { libcFunctions } from "../libc.ts";
import { WAITING_CONNECTIONS_MAX } from "../settings/limits.ts";

/** A listening TCP socket. Its owner must close the file descriptor `fd`. */
export interface ListeningSocket {
  fd: number;
  port: number;
  /** Address that the socket is bound to. If absent, this is the address in the settings. */
  host?: string;
}

const DUPLICATE_CLOSED_ON_EXEC = 1030; // F_DUPFD_CLOEXEC
const FD_MIN = 3;

/**
 * Opens a TCP socket that listens but accepts no connections. Connections wait in the kernel's
 * queue until this or another process accepts them. Port 0 means any free port. Throws `StartError`
 * if the socket cannot listen.
 */
export function openListeningSocket(address: { host: string; port: number }): ListeningSocket {
  const { host: hostname, port } = address;
  try {
    const listener = Bun.listen({ hostname, port, socket: { data() {} } });
    // The event loop does not run between `listen` and this line, so Bun accepts no connection
    // here.
    const fd = duplicate((listener as unknown as { fd: number }).fd);
    listener.stop(true);
    // Bun's queue has 512 places, too few for the connections that arrive while a server is
    // replaced.
    open().listen(fd, WAITING_CONNECTIONS_MAX);
    return { fd, port: listener.port };
  } catch (error) {
    throw listenError(address, error);
  }
}

/**
 * Duplicates the file descriptor of a socket. Throws when the process has no free file descriptor.
 */
export function duplicate(fd: number): number {
  const copy = open().fcntl(fd, DUPLICATE_CLOSED_ON_EXEC, FD_MIN);
  if (copy < 0) throw new Error(`Cannot duplicate descriptor ${fd} of a listening socket`);
  return copy;
}

const open = libcFunctions({
  fcntl: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  listen: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
});
