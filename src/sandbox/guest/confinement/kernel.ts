import { FFIType, ptr, read } from "bun:ffi";
import { openLibc } from "../../../libc.ts";

/**
 * Access to system calls and to functions of the C library. Arguments that are left out are 0. A
 * pointer is passed as a view of memory, which the caller must keep alive.
 */
export interface Kernel {
  syscall(number: number, ...args: SyscallArgument[]): SyscallResult;
  /** Removes the supplementary groups of all threads. Returns false when that fails. */
  dropGroups(): boolean;
  /** Sets the user and the group of all threads to the id `user`. Returns false when that fails. */
  setUser(user: number): boolean;
  /** Returns the address of a view's memory, which does not move while the view is alive. */
  address(view: ArrayBufferView): bigint;
}
export type SyscallArgument = number | bigint | ArrayBufferView;
export type SyscallResult = { value: number; errno: number };

const ARGUMENTS = 6;

/** Loads the C library and binds its functions. Throws when it cannot be loaded. */
export function openKernel(): Kernel {
  const { symbols } = openLibc(functions);
  return {
    address,
    // The C library changes all threads; the system call itself changes only the thread that calls.
    dropGroups: () => symbols.setgroups(0n, null) === 0,
    setUser(user) {
      return symbols.setresgid(user, user, user) === 0 && symbols.setresuid(user, user, user) === 0;
    },
    syscall(number, a = 0, b = 0, c = 0, d = 0, e = 0, f = 0) {
      const words = [word(a), word(b), word(c), word(d), word(e), word(f)] as const;
      const value = Number(symbols.syscall(BigInt(number), ...words));
      const errno = value === -1 ? read.i32(symbols.__errno_location()!, 0) : 0;
      return { value, errno };
    },
  };
}

function word(value: SyscallArgument): bigint {
  return typeof value === "object" ? address(value) : BigInt(value);
}

const functions = {
  syscall: {
    args: Array.from({ length: ARGUMENTS + 1 }, () => FFIType.i64),
    returns: FFIType.i64,
  },
  setgroups: { args: [FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
  setresgid: { args: [FFIType.u32, FFIType.u32, FFIType.u32], returns: FFIType.i32 },
  setresuid: { args: [FFIType.u32, FFIType.u32, FFIType.u32], returns: FFIType.i32 },
  __errno_location: { args: [], returns: FFIType.ptr },
} as const;

function address(view: ArrayBufferView): bigint {
  return BigInt(ptr(view as Uint8Array));
}

/**
 * Reports why a guest process, which runs user code, is not confined. The message is the end of the
 * sentence "User code cannot run: …".
 */
export class ConfinementError extends Error {
  override readonly name = "Unconfined";
}
