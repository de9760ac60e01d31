/**
 * Checks whether an LMDB file is intact, from its contents alone. A file that was copied while a
 * process wrote to it contains pages from different points in time. LMDB does not detect this, and
 * returns wrong data or crashes the process. The check compares transaction numbers: the copy
 * begins with the meta pages, so a page written after them has a higher number than theirs. The
 * layout is that of lmdb's `mdb.c`.
 */

import { fstatSync, readSync } from "node:fs";
import { openFile } from "../../disk/open-file.ts";

const HEADER_BYTES = 24;
const DB_BYTES = 48;
const META_BYTES = HEADER_BYTES + 144;
const MAGIC = 0xbeefc0de;
const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
const KINDS = BRANCH | LEAF | OVERFLOW;
/**
 * Flag of an entry of a leaf page: the entry's value is in overflow pages. The flag `SUB_DATA`
 * means that the value is a nested tree.
 */
const BIG_DATA = 1;
const SUB_DATA = 2;
/** Largest number of levels of a tree that LMDB can read. */
const DEPTH_MAX = 32;
/** Size in bytes of each cached part of the file. At most `WINDOWS_MAX` parts are cached. */
const WINDOW_BYTES = 128 << 10;
const WINDOWS_MAX = 256;

type Meta = ReturnType<typeof metaOf>;

type Tree = ReturnType<typeof treeOf>;

/**
 * Checks whether an LMDB file is intact. Returns undefined if it is, else a clause that names the
 * fault, such as "page 7 is missing".
 */
export function integrityFault(path: string): string | undefined {
  using file = openFile(path, "r");
  try {
    new PageWalk(file.fd).run();
    return undefined;
  } catch (error) {
    if (error instanceof IntegrityFault) return error.message;
    throw error;
  }
}

class IntegrityFault extends Error {}

class PageWalk {
  readonly #size: number;
  readonly #meta: Meta;
  /**
   * Cache of recently read parts of the file. Each part has `WINDOW_BYTES` bytes; the key is its
   * start position in bytes. The cache saves reads because the pages of a tree are near each other.
   */
  readonly #windows = new Map<number, Buffer<ArrayBuffer>>();
  #pages = 0;

  constructor(private readonly fd: number) {
    this.#size = fstatSync(fd).size;
    const first = metaOf(this.#bytes(0, META_BYTES));
    const second = metaOf(this.#bytes(first.pageBytes, META_BYTES));
    this.#meta = second.transaction > first.transaction ? second : first;
  }

  run(): void {
    for (const tree of this.#meta.trees) this.#tree(tree);
    // Frees up to 32 MiB now. The garbage collector may leave them for as long as the server runs.
    for (const { buffer } of this.#windows.values()) buffer.transfer(0);
  }

  #tree({ root, depth, entries }: Tree): void {
    if (entries === 0) return;
    if (depth > DEPTH_MAX) throw new IntegrityFault("a tree is too deep");
    const found = this.#node(root, depth);
    if (found !== entries)
      throw new IntegrityFault(`a tree has ${found} entries instead of ${entries}`);
  }

  /**
   * Checks a page of a tree and all pages below it. Returns the number of entries in all these
   * pages. `depth` is the number of tree levels from this page to the leaves, both included.
   */
  #node(number: number, depth: number): number {
    const page = this.#page(number, depth > 1 ? BRANCH : LEAF, this.#meta.pageBytes);
    const keys = page.readUInt16LE(20) >> 1;
    if (HEADER_BYTES + 2 * keys > page.length)
      throw new IntegrityFault(`page ${number} is no page`);
    let entries = depth > 1 ? 0 : keys;
    for (let key = 0; key < keys; key++) {
      const at = HEADER_BYTES + page.readUInt16LE(HEADER_BYTES + 2 * key);
      if (at + 8 > page.length) throw new IntegrityFault(`page ${number} is no page`);
      const low = page.readUInt32LE(at);
      const flags = page.readUInt16LE(at + 4);
      const data = at + 8 + page.readUInt16LE(at + 6);
      if (depth > 1) entries += this.#node(low + flags * 2 ** 32, depth - 1);
      else if ((flags & BIG_DATA) !== 0) this.#overflow(within(page, data, 24, number));
      else if ((flags & SUB_DATA) !== 0) this.#tree(treeOf(within(page, data, DB_BYTES, number)));
    }
    return entries;
  }

  /**
   * Checks the pages of one large value, of which only the first has a header. Throws
   * `IntegrityFault` if a later page has the header of a newer transaction, because LMDB then
   * reused this page while the file was copied.
   */
  #overflow(node: Buffer): void {
    const { pageBytes, transaction } = this.#meta;
    const number = numberAt(node, 0);
    const count = numberAt(node, 16);
    if (count < 1 || count > this.#meta.lastPage)
      throw new IntegrityFault(`page ${number} is no page`);
    const pages = this.#page(number, OVERFLOW, count * pageBytes);
    for (let i = 1; i < count; i++) {
      const at = i * pageBytes;
      const isHead = numberAt(pages, at) === number + i && (pages[at + 18]! & KINDS) !== 0;
      const written = numberAt(pages, at + 8);
      if (isHead && written > transaction && written < transaction + 2 ** 32) {
        throw new IntegrityFault(newer(number + i));
      }
    }
  }

  #page(number: number, kind: number, bytes: number): Buffer {
    const { pageBytes, lastPage, transaction } = this.#meta;
    if (number > lastPage) throw new IntegrityFault(`page ${number} is missing`);
    this.#pages += 1;
    if (this.#pages > lastPage) throw new IntegrityFault("its trees share pages");
    const page = this.#bytes(number * pageBytes, bytes);
    if (numberAt(page, 8) > transaction) throw new IntegrityFault(newer(number));
    const isKind = (page.readUInt16LE(18) & KINDS) === kind;
    if (numberAt(page, 0) !== number || !isKind)
      throw new IntegrityFault(`page ${number} is another one`);
    return page;
  }

  #bytes(at: number, count: number): Buffer {
    if (at + count > this.#size) throw new IntegrityFault("its end is missing");
    const from = at - (at % WINDOW_BYTES);
    if (at + count > from + WINDOW_BYTES) return this.#read(at, count);
    let window = this.#windows.get(from);
    if (window === undefined) {
      window = this.#read(from, Math.min(WINDOW_BYTES, this.#size - from));
      this.#windows.set(from, window);
      if (this.#windows.size > WINDOWS_MAX)
        this.#windows.delete(this.#windows.keys().next().value!);
    }
    return window.subarray(at - from, at - from + count);
  }

  #read(at: number, count: number): Buffer<ArrayBuffer> {
    const bytes = Buffer.allocUnsafeSlow(count);
    readSync(this.fd, bytes, 0, count, at);
    return bytes;
  }
}

const newer = (number: number) => `page ${number} was written later than the others`;

function metaOf(page: Buffer) {
  const trees = HEADER_BYTES + 24;
  const pageBytes = page.readUInt32LE(trees);
  if (page.readUInt32LE(HEADER_BYTES) !== MAGIC || pageBytes < META_BYTES)
    throw new IntegrityFault("it does not begin as one");
  return {
    pageBytes,
    /** Tree of the free pages, and tree of the root table, which lists the named tables. */
    trees: [treeOf(page.subarray(trees)), treeOf(page.subarray(trees + DB_BYTES))],
    lastPage: numberAt(page, HEADER_BYTES + 120),
    transaction: numberAt(page, HEADER_BYTES + 128),
  };
}

function treeOf(bytes: Buffer) {
  return {
    depth: bytes.readUInt16LE(6),
    entries: numberAt(bytes, 32),
    root: numberAt(bytes, 40),
  };
}

function within(page: Buffer, at: number, bytes: number, number: number): Buffer {
  if (at + bytes > page.length) throw new IntegrityFault(`page ${number} is no page`);
  return page.subarray(at, at + bytes);
}

/**
 * Reads the u64 at byte `at` as a number. This is exact, because page and transaction numbers are
 * safe integers.
 */
function numberAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}
