import { ptr } from "bun:ffi";

/** Size of a memory page in bytes. The kernel caches and writes files in units of this size. */
export const PAGE_BYTES = 4_096;

/**
 * Returns a buffer whose memory begins at a page boundary, which direct I/O requires. Its content
 * is not initialized.
 */
export function pageAligned(bytes: number): Buffer {
  const memory = Buffer.allocUnsafeSlow(bytes + PAGE_BYTES);
  const start = -ptr(memory) & (PAGE_BYTES - 1);
  return memory.subarray(start, start + bytes);
}
