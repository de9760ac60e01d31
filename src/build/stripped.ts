/** Byte positions in a 64-bit ELF header: offset, size and number of the program headers. */
const PROGRAM_HEADERS = { offset: 32, size: 54, count: 56 };
const SECTION_HEADERS = { offset: 40, count: 60, names: 62 };
/** Byte positions of fields in a program header: offset and size of the segment in the file. */
const SEGMENT = { offset: 8, size: 32 };

/**
 * Returns a shared library (ELF, 64 bits, little-endian) without the parts that the dynamic loader
 * never reads: the symbols for debuggers and the table of sections. These parts follow the last
 * segment, where the file is cut.
 */
export function stripped(library: Uint8Array): Uint8Array {
  const view = new DataView(library.buffer, library.byteOffset, library.byteLength);
  const isElf64 = view.getUint32(0) === 0x7f454c46 && view.getUint16(4) === 0x0201;
  if (!isElf64) throw new Error("Expected a little-endian ELF library of 64 bits");
  const first = Number(view.getBigUint64(PROGRAM_HEADERS.offset, true));
  const size = view.getUint16(PROGRAM_HEADERS.size, true);
  const count = view.getUint16(PROGRAM_HEADERS.count, true);
  const ends = Array.from({ length: count }, (_, index) => {
    const at = first + index * size;
    const field = (offset: number) => Number(view.getBigUint64(at + offset, true));
    return field(SEGMENT.offset) + field(SEGMENT.size);
  });
  const kept = library.slice(0, Math.max(...ends));
  const header = new DataView(kept.buffer);
  header.setBigUint64(SECTION_HEADERS.offset, 0n);
  header.setUint16(SECTION_HEADERS.count, 0);
  header.setUint16(SECTION_HEADERS.names, 0);
  return kept;
}
