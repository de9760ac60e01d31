import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { DISK_BYTES } from "./disk.ts";

/** Kinds of records that `recorder.c` writes. */
const RECORD_BYTES = 16;
const WRITE = 1;
const FLUSH_BEGUN = 2;
const FLUSH_DONE = 3;
const DISCARD = 4;
const SECTOR_BYTES = 512;

interface JournalRecord {
  operation: number;
  length: number;
  offset: number;
  /** Offset of the record's bytes in the journal. */
  dataAt: number;
}

/** Modes of power loss: which of the unflushed writes reached the disk. */
export const modes = ["none", "some", "torn", "all", "late"] as const;
export type Mode = (typeof modes)[number];

/**
 * Possible disk contents after a power loss at a record of the journal. Writes that ended before
 * the start of a completed flush are present; any subset of the later ones may be, even single
 * sectors.
 */
export class CrashStates {
  readonly #journal: number;
  readonly #records: JournalRecord[];
  readonly #base: number;
  readonly #random: () => number;
  #applied = 0;
  /** Unflushed writes, oldest first. */
  #pending: number[] = [];

  constructor(
    journal: string,
    private readonly directory: string,
    random: () => number,
  ) {
    this.#journal = openSync(journal, "r");
    this.#records = recordsOf(this.#journal);
    this.#base = openSync(join(directory, "base.img"), "w+");
    ftruncateSync(this.#base, DISK_BYTES);
    this.#random = random;
  }

  get records(): number {
    return this.#records.length;
  }

  /** Returns the records between `from` and `to` with the most unflushed writes. */
  busiest(from: number, to: number, count: number): number[] {
    const waiting: { at: number; writes: number }[] = [];
    let writes = 0;
    for (const [index, { operation }] of this.#records.entries()) {
      if (operation === WRITE || operation === DISCARD) writes += 1;
      if (operation === FLUSH_DONE) writes = 0;
      if (index >= from && index < to && writes > 1) waiting.push({ at: index + 1, writes });
    }
    const most = waiting.sort((a, b) => b.writes - a.writes).slice(0, count * 6);
    return Array.from({ length: Math.min(count, most.length) }, () => {
      return most.splice(Math.floor(this.#random() * most.length), 1)[0]!.at;
    });
  }

  /** Creates the image of a state and returns its path. Positions must ascend from call to call. */
  async image(position: number, mode: Mode): Promise<{ image: string; pending: number }> {
    this.#advance(position);
    const [base, image] = ["base.img", "crash.img"].map((name) => join(this.directory, name));
    await $`cp --sparse=always ${base} ${image}`.quiet();
    const file = openSync(image!, "r+");
    for (const index of this.#survivors(mode)) this.#put(file, index, mode === "torn");
    closeSync(file);
    return { image: image!, pending: this.#pending.length };
  }

  close(): void {
    closeSync(this.#journal);
    closeSync(this.#base);
  }

  #survivors(mode: Mode): number[] {
    switch (mode) {
      case "none":
        return [];
      case "all":
        return this.#pending;
      case "late":
        return this.#pending.slice(Math.floor(this.#pending.length / 2));
      default:
        return this.#pending.filter(() => this.#random() < 0.6);
    }
  }

  #advance(position: number): void {
    for (; this.#applied < position; this.#applied++) {
      const { operation } = this.#records[this.#applied]!;
      if (operation === WRITE || operation === DISCARD) this.#pending.push(this.#applied);
      if (operation !== FLUSH_DONE) continue;
      let begun = this.#applied;
      while (this.#records[begun]!.operation !== FLUSH_BEGUN) begun -= 1;
      for (const index of this.#pending) if (index < begun) this.#put(this.#base, index, false);
      this.#pending = this.#pending.filter((index) => index > begun);
    }
  }

  /** Writes a record's bytes; when torn, only some of its sectors. */
  #put(file: number, index: number, torn: boolean): void {
    const { operation, length, offset, dataAt } = this.#records[index]!;
    const bytes = Buffer.alloc(length);
    if (operation === WRITE) readSync(this.#journal, bytes, 0, length, dataAt);
    if (!torn) {
      writeSync(file, bytes, 0, length, offset);
      return;
    }
    for (let at = 0; at < length; at += SECTOR_BYTES) {
      const size = Math.min(SECTOR_BYTES, length - at);
      if (this.#random() < 0.5) writeSync(file, bytes, at, size, offset + at);
    }
  }
}

function recordsOf(journal: number): JournalRecord[] {
  const { size } = fstatSync(journal);
  const head = Buffer.alloc(RECORD_BYTES);
  const records: JournalRecord[] = [];
  for (let at = 0; at + RECORD_BYTES <= size; ) {
    readSync(journal, head, 0, RECORD_BYTES, at);
    const operation = head.readUInt32LE(0);
    const length = head.readUInt32LE(4);
    const dataAt = at + RECORD_BYTES;
    records.push({ operation, length, offset: Number(head.readBigUInt64LE(8)), dataAt });
    at = dataAt + (operation === WRITE ? length : 0);
  }
  return records;
}
