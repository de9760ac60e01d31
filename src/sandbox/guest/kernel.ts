import { dlopen, FFIType, ptr, read } from "bun:ffi";

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
  const { symbols } = openLibc();
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

function openLibc() {
  const symbols = {
    syscall: {
      args: Array.from({ length: ARGUMENTS + 1 }, () => FFIType.i64),
      returns: FFIType.i64,
    },
    __errno_location: { args: [], returns: FFIType.ptr },
  } as const;
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  try {
    return dlopen("libc.so.6", symbols);
  } catch {
    return dlopen(musl, symbols);
  }
}

function address(view: ArrayBufferView): bigint {
  return BigInt(ptr(view as Uint8Array));
}
