import { FFIType, ptr } from "bun:ffi";
import { libcFunctions } from "../../libc.ts";
import type { ListeningSocket } from "../listening-socket.ts";

const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const AF_INET = 2;
const AF_INET6 = 10;
const F_SETFD = 2;
const F_GETFL = 3;
const F_SETFL = 4;
const FD_CLOEXEC = 1;
const O_NONBLOCK = 0o4000;
/** Size in bytes of `struct sockaddr_storage`. */
const ADDRESS_BYTES = 128;

/**
 * Prepares a socket that another process has opened: this process can accept from it, and child
 * processes do not inherit it. Returns undefined if `fd` is not a listening TCP socket.
 */
export function inheritedSocket(fd: number): Required<ListeningSocket> | undefined {
  if (!isListening(fd)) return undefined;
  const address = addressOf(fd);
  if (address === undefined) return undefined;
  const { fcntl } = open();
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
  return { fd, ...address };
}

/** Whether a file descriptor is a socket that listens. */
export function isListening(fd: number): boolean {
  const value = new Int32Array(1);
  const size = new Uint32Array([value.byteLength]);
  const { getsockopt } = open();
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(size)) === 0 && value[0] === 1;
}

function addressOf(fd: number): { host: string; port: number } | undefined {
  const address = Buffer.alloc(ADDRESS_BYTES);
  const size = new Uint32Array([ADDRESS_BYTES]);
  if (open().getsockname(fd, ptr(address), ptr(size)) !== 0) return undefined;
  const family = address.readUInt16LE(0);
  const port = address.readUInt16BE(2);
  if (family === AF_INET) return { host: address.subarray(4, 8).join("."), port };
  if (family !== AF_INET6) return undefined;
  const groups = Array.from({ length: 8 }, (_, at) => address.readUInt16BE(8 + 2 * at));
  // The URL parser writes an address in its shortest form.
  const { hostname } = new URL(`http://[${groups.map((it) => it.toString(16)).join(":")}]`);
  return { host: hostname.slice(1, -1), port };
}

const open = libcFunctions({
  fcntl: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  getsockname: { args: [FFIType.i32, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
  getsockopt: {
    args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.ptr],
    returns: FFIType.i32,
  },
});
