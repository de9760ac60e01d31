import { dlopen, type FFIFunction } from "bun:ffi";

/** Binds functions of the C library, glibc's or musl's. Throws when the system has neither. */
export function openLibc<T extends Record<string, FFIFunction>>(symbols: T) {
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  try {
    return dlopen("libc.so.6", symbols);
  } catch {
    return dlopen(musl, symbols);
  }
}
