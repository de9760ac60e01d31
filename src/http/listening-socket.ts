import { FFIType } from "bun:ffi";
import { openLibc } from "../libc.ts";

/** A TCP socket that listens, as a descriptor whose holder closes it. */
export interface ListeningSocket {
  fd: number;
  port: number;
}

const DUPLICATE_CLOSED_ON_EXEC = 1030; // F_DUPFD_CLOEXEC
const FD_MIN = 3;

/**
 * Listens without accepting: connections wait in the kernel's queue until somebody accepts from
 * the descriptor, in this process or in one that it is handed to, and they outlive whoever does.
 * Port 0 takes a free one. Throws what the system says when it cannot listen.
 */
export function openListeningSocket(address: { host: string; port: number }): ListeningSocket {
  const { host: hostname, port } = address;
  const listener = Bun.listen({ hostname, port, socket: { data() {} } });
  // No turn of the event loop lies between, so that nothing is accepted here.
  const fd = duplicate((listener as unknown as { fd: number }).fd);
  listener.stop(true);
  return { fd, port: listener.port };
}

/** Another descriptor of the same socket. Throws where there are no more descriptors. */
export function duplicate(fd: number): number {
  libc ??= openLibc(functions);
  const copy = libc.symbols.fcntl(fd, DUPLICATE_CLOSED_ON_EXEC, FD_MIN);
  if (copy < 0) throw new Error(`Cannot duplicate descriptor ${fd} of a listening socket`);
  return copy;
}

const functions = {
  fcntl: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
} as const;
let libc: ReturnType<typeof openLibc<typeof functions>> | undefined;
