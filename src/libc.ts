import { dlopen, type FFIFunction } from "bun:ffi";
import { messageOf, StartError } from "./errors.ts";

/**
 * Loads the C library (glibc or musl) and binds functions of it. `symbols` has their names and
 * types. Throws `StartError` when neither library can be loaded.
 */
export function openLibc<T extends Record<string, FFIFunction>>(symbols: T) {
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  try {
    return dlopen("libc.so.6", symbols);
  } catch (error) {
    try {
      return dlopen(musl, symbols);
    } catch {
      // When the address space is limited, Bun can load the library but cannot map or call it.
      throw new StartError(
        `Cannot load the C library: ${messageOf(error)}; expected glibc or musl, and no limit of the address space (ulimit -v)`,
      );
    }
  }
}

/**
 * Returns a function that gives access to the C library's functions listed in `symbols`. The
 * function loads the library at its first call, and throws `StartError` if that fails.
 */
export function libcFunctions<const T extends Record<string, FFIFunction>>(symbols: T) {
  let libc: ReturnType<typeof openLibc<T>> | undefined;
  return () => {
    libc ??= openLibc(symbols);
    return libc.symbols;
  };
}
