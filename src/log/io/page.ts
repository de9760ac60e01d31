import { ptr } from "bun:ffi";

/** The unit in which the kernel caches and writes a file. */
export const PAGE_BYTES = 4_096;

/** A buffer that starts at a page of memory, which direct I/O needs. Its content is arbitrary. */
export function pageAligned(bytes: number): Buffer {
  const memory = Buffer.allocUnsafeSlow(bytes + PAGE_BYTES);
  const start = -ptr(memory) & (PAGE_BYTES - 1);
  return memory.subarray(start, start + bytes);
}
