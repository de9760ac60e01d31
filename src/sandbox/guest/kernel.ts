import { FFIType, ptr, read } from "bun:ffi";
import { openLibc } from "../../libc.ts";

/** `syscall(2)` with the errno of a failure. Pointers are passed as views on live memory. */
export interface Kernel {
  call(number: number, ...args: (number | bigint | ArrayBufferView)[]): CallResult;
  /** Of memory that stays put while the view lives. */
  address(view: ArrayBufferView): bigint;
}
export type CallResult = { value: number; errno: number };

const ARGUMENTS = 6;

/** Binds the C library's `syscall`. Throws where it cannot be loaded. */
export function openKernel(): Kernel {
  const { symbols } = openLibc(functions);
  return {
    address,
    call(number, ...args) {
      const words = Array.from({ length: ARGUMENTS }, (_, index) => word(args[index] ?? 0));
      const value = Number(symbols.syscall(BigInt(number), ...(words as Six)));
      const errno = value === -1 ? read.i32(symbols.__errno_location()!, 0) : 0;
      return { value, errno };
    },
  };
}

type Six = [bigint, bigint, bigint, bigint, bigint, bigint];

function word(value: number | bigint | ArrayBufferView): bigint {
  return typeof value === "object" ? address(value) : BigInt(value);
}

const functions = {
  syscall: {
    args: Array.from({ length: ARGUMENTS + 1 }, () => FFIType.i64),
    returns: FFIType.i64,
  },
  __errno_location: { args: [], returns: FFIType.ptr },
} as const;

function address(view: ArrayBufferView): bigint {
  return BigInt(ptr(view as Uint8Array));
}
