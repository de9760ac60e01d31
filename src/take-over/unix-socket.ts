import { FFIType, ptr, read } from "bun:ffi";
import { closeSync } from "node:fs";
import { getSystemErrorName } from "node:util";
import { libcFunctions } from "../libc.ts";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const SO_PEERCRED = 17;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;
/**
 * Size in bytes of `struct msghdr` on 64-bit Linux. `CONTROL_BYTES_AT` is the offset in it of the
 * length of the control data. The next three constants are the sizes of `struct iovec`, `struct
 * cmsghdr` and a file descriptor.
 */
const MSGHDR_BYTES = 56;
const CONTROL_BYTES_AT = 40;
const IOVEC_BYTES = 16;
const CMSGHDR_BYTES = 16;
const FD_BYTES = 4;
/** Maximum length in bytes of the path of a Unix socket, including the zero byte at its end. */
const PATH_BYTES_MAX = 108;
const RECEIVED_BYTES_MAX = 4_096;
/** Largest number of file descriptors in one message. */
const DESCRIPTORS_MAX = 8;

/**
 * Connects to the Unix socket at `path`. A path that begins with `@` is a name in the abstract
 * namespace. Returns the file descriptor, which the caller must close. Throws the system's error.
 */
export function connectUnix(path: string, type: "stream" | "datagram"): number {
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`);
  if (name.length > PATH_BYTES_MAX) throw new Error("The path of a socket is too long");
  const address = Buffer.alloc(2 + name.length);
  address.writeUInt16LE(AF_UNIX, 0);
  name.copy(address, 2);
  const { socket, connect } = open();
  const kind = type === "stream" ? SOCK_STREAM : SOCK_DGRAM;
  const fd = socket(AF_UNIX, kind | SOCK_CLOEXEC, 0);
  if (fd < 0) throw systemError("create a socket");
  // The address of an abstract name ends with the name's last byte.
  const length = path.startsWith("@") ? address.length : address.length - 1;
  if (connect(fd, ptr(address), length) === 0) return fd;
  const error = systemError("connect to a socket");
  closeSync(fd);
  throw error;
}

/**
 * Sends bytes over a Unix socket, together with duplicates of file descriptors. Throws the system's
 * error, or an error when the socket does not take all bytes at once.
 */
export function sendOn(fd: number, bytes: Buffer, descriptors: readonly number[] = []): void {
  const size = descriptors.length * FD_BYTES;
  const controlBytes = size > 0 ? CMSGHDR_BYTES + 8 * Math.ceil(size / 8) : 0;
  const { memory, control } = messageHeader(bytes, controlBytes);
  if (size > 0) {
    control.writeBigUInt64LE(BigInt(CMSGHDR_BYTES + size), 0);
    control.writeInt32LE(SOL_SOCKET, 8);
    control.writeInt32LE(SCM_RIGHTS, 12);
  }
  for (const [at, it] of descriptors.entries()) {
    control.writeInt32LE(it, CMSGHDR_BYTES + at * FD_BYTES);
  }
  const sent = Number(open().sendmsg(fd, ptr(memory), MSG_NOSIGNAL | MSG_DONTWAIT));
  if (sent < 0) throw systemError("send to a socket");
  if (sent < bytes.length) throw new Error("A socket took part of a message");
}

/**
 * Receives the bytes and file descriptors that have arrived on a Unix socket, without waiting.
 * Returns undefined if nothing has arrived, and empty `bytes` if the other end has closed the
 * connection. The caller must close the descriptors.
 */
export function receiveOn(fd: number) {
  const bytes = Buffer.alloc(RECEIVED_BYTES_MAX);
  const controlBytes = CMSGHDR_BYTES + DESCRIPTORS_MAX * FD_BYTES;
  const { memory, control } = messageHeader(bytes, controlBytes);
  const size = Number(open().recvmsg(fd, ptr(memory), MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (size < 0) {
    const error = systemError("receive from a socket");
    if (error.code === "EAGAIN" || error.code === "EINTR") return undefined;
    if (error.code === "ECONNRESET") return { bytes: Buffer.alloc(0), descriptors: [] };
    throw error;
  }
  const descriptors: number[] = [];
  const receivedControlBytes = Number(memory.readBigUInt64LE(CONTROL_BYTES_AT));
  if (receivedControlBytes >= CMSGHDR_BYTES && control.readInt32LE(12) === SCM_RIGHTS) {
    const end = Number(control.readBigUInt64LE(0));
    for (let at = CMSGHDR_BYTES; at + FD_BYTES <= end; at += FD_BYTES) {
      descriptors.push(control.readInt32LE(at));
    }
  }
  return { bytes: bytes.subarray(0, size), descriptors };
}

/**
 * Returns the user id of the process at the other end of a Unix socket. Returns undefined if the
 * system does not report it.
 */
export function peerUser(fd: number): number | undefined {
  const credentials = new Int32Array(3);
  const size = new Uint32Array([credentials.byteLength]);
  const { getsockopt } = open();
  const result = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ptr(credentials), ptr(size));
  return result === 0 ? credentials[1] : undefined;
}

/**
 * Makes a `struct msghdr` of the C library for `bytes`. Its control data (`controlBytes` bytes) is
 * in the same buffer, because a separate buffer, known to the structure only by address, could be
 * freed.
 */
function messageHeader(bytes: Buffer, controlBytes: number) {
  const memory = Buffer.alloc(MSGHDR_BYTES + IOVEC_BYTES + controlBytes);
  // The address is read after the first `subarray`, which can move the memory of a buffer.
  const control = memory.subarray(MSGHDR_BYTES + IOVEC_BYTES);
  const address = BigInt(ptr(memory));
  const vector = address + BigInt(MSGHDR_BYTES);
  memory.writeBigUInt64LE(vector, 16);
  memory.writeBigUInt64LE(1n, 24);
  if (controlBytes > 0) memory.writeBigUInt64LE(vector + BigInt(IOVEC_BYTES), 32);
  memory.writeBigUInt64LE(BigInt(controlBytes), CONTROL_BYTES_AT);
  memory.writeBigUInt64LE(BigInt(ptr(bytes)), MSGHDR_BYTES);
  memory.writeBigUInt64LE(BigInt(bytes.length), MSGHDR_BYTES + 8);
  return { memory, control };
}

function systemError(action: string): Error & { code: string } {
  const code = getSystemErrorName(-read.i32(open().__errno_location()!, 0));
  return Object.assign(new Error(`Cannot ${action}: ${code}`), { code });
}

const open = libcFunctions({
  socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  connect: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  sendmsg: { args: [FFIType.i32, FFIType.ptr, FFIType.i32], returns: FFIType.i64_fast },
  recvmsg: { args: [FFIType.i32, FFIType.ptr, FFIType.i32], returns: FFIType.i64_fast },
  getsockopt: {
    args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.ptr],
    returns: FFIType.i32,
  },
  __errno_location: { args: [], returns: FFIType.ptr },
});
