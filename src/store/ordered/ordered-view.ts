import { assert } from "../../assert.ts";
import type { Logger } from "../../observe/log.ts";
import { decodeValue } from "../row-write.ts";
import type { LocalStore } from "../store.ts";
import type { Table } from "../table.ts";
import { type ChangeSet, type ChangeSetPart, decodeEntry } from "./change-set.ts";
import {
  COMPACTION_KEY,
  COMPACTION_TABLE,
  type CompactionProgress,
  PARTS_TABLE,
  POSITION_TABLE,
  removeRowsBetween,
} from "./compaction-progress.ts";
import type { LogEntry } from "./ordered-log.ts";

/**
 * How far a view has read its log. It is stored under these names, in the transaction that applied
 * the entries.
 */
export interface ViewPosition {
  /** Position of the first entry that is not in it. */
  next: number;
  /** Position of the last change set that took effect. */
  version: number;
  /** Position of the first entry that an empty view needs: the start of the last compaction. */
  first: number;
  /** Bytes of the entries from `first` on. */
  bytes: number;
  /** Start of the running compaction, and the bytes of the entries before it. */
  walk?: { position: number; bytes: number };
  /** Id of the compaction whose end completes the view, when the view began within the log. */
  lacks?: string;
}

const EMPTY: ViewPosition = { next: 0, version: -1, first: 0, bytes: 0 };

export interface OrderedViewOptions {
  local: LocalStore;
  name: string;
  logger: Logger;
  /** Author of this node's change sets. */
  author: string;
  /** Whether listeners are not called for a set of this node. */
  isKnown(number: number): boolean;
}

/** Outcome of applying entries. */
export interface ApplyResult {
  position: ViewPosition;
  /** Whether the change sets of this node took effect, by number. */
  own: Map<number, boolean>;
  /** Tables that were written, except by sets for which listeners are not called. */
  written: Set<string>;
  /** Entries were deleted before they were read. */
  hasGap: boolean;
}

type Numbered = Pick<ChangeSet, "author" | "number">;

/** State that a node has computed from an ordered log, one change set after the other. */
export class OrderedView {
  readonly #options: OrderedViewOptions;
  readonly #positions: Table<ViewPosition, string>;
  readonly #compactions: Table<CompactionProgress, string>;
  /** Parts of incomplete sets: [author, number, index] → bytes. */
  readonly #parts: Table<Uint8Array, [string, number, number]>;

  constructor(options: OrderedViewOptions) {
    this.#options = options;
    this.#positions = options.local.table(POSITION_TABLE);
    this.#compactions = options.local.table(COMPACTION_TABLE);
    this.#parts = options.local.table(PARTS_TABLE);
  }

  /** The stored position; within a transaction, that of the transaction. */
  position(): ViewPosition {
    return this.#positions.get("place") ?? EMPTY;
  }

  compaction(): CompactionProgress | undefined {
    return this.#compactions.get(COMPACTION_KEY);
  }

  /**
   * Applies entries in one transaction. Entries come twice when it is not known whether they were
   * stored. Then the version is above them, and their first outcome stands.
   */
  async apply(entries: readonly LogEntry[]): Promise<ApplyResult> {
    const { local } = this.#options;
    const decoded = entries.map((entry) => ({ ...entry, found: decodeEntry(entry.bytes) }));
    for (const { position, bytes, found } of decoded) {
      // No table can be opened within a transaction; another node may know more of them.
      for (const name of found === undefined ? [] : tablesOf(found)) local.table(name);
      if (found === undefined && bytes.length > 0) this.#warnUnreadable(position);
    }
    return local.change(() => {
      const before = this.position();
      const result: ApplyResult = {
        position: { ...before },
        own: new Map(),
        written: new Set(),
        hasGap: false,
      };
      for (const { position, bytes, found } of decoded) {
        if (position > result.position.next) {
          result.position = this.#beginAt(position, found);
          result.hasGap = true;
        }
        result.position.next = position + 1;
        result.position.bytes += bytes.length;
        if (found === undefined) continue;
        const set = "writes" in found ? found : this.#completed(found, result.position);
        if (set !== undefined) this.#decide(set, { position, bytes: bytes.length }, result);
        else if (isLast(found)) this.#note(found, false, result);
      }
      const { next } = result.position;
      assert(next >= before.next, "The position of a view never moves back");
      this.#positions.put("place", result.position);
      return result;
    });
  }

  #warnUnreadable(position: number): void {
    const { logger, name } = this.#options;
    logger.error({ position }, `${name} skips an entry that is not a change set`);
  }

  /**
   * Starts over at the log's first entry after older ones were deleted. The log begins with a
   * compaction, which writes all rows again; it replaces the view's rows as it passes them.
   */
  #beginAt(position: number, found: ChangeSet | ChangeSetPart | undefined): ViewPosition {
    const compaction = found && "writes" in found ? compactionOf(found) : undefined;
    if (found === undefined || compaction === undefined || compaction.at || compaction.isDone) {
      throw new Error(`Expected the log of ${this.#options.name} to begin with a compaction`);
    }
    const { logger, name } = this.#options;
    logger.info({ position }, `${name} is read again from the beginning of its log`);
    const version = found.base;
    return { next: position, version, first: position, bytes: 0, lacks: compaction.id };
  }

  /** The set that this part completes, when all parts were computed at the current version. */
  #completed(part: ChangeSetPart, { version }: ViewPosition): ChangeSet | undefined {
    if (part.base !== version) return undefined;
    const { author, number, index, count, bytes } = part;
    if (index < count - 1) {
      this.#parts.put([author, number, index], bytes);
      return undefined;
    }
    const parts: Uint8Array[] = [];
    for (let i = 0; i < index; i++) {
      const stored = this.#parts.get([author, number, i]);
      if (stored === undefined) return undefined;
      // LMDB reads the next row into the same memory.
      parts.push(Buffer.from(stored));
    }
    const whole = decodeEntry(Buffer.concat([...parts, bytes]));
    return whole && "writes" in whole ? whole : undefined;
  }

  #decide(set: ChangeSet, at: { position: number; bytes: number }, result: ApplyResult): void {
    const isEffective = set.base === result.position.version;
    this.#note(set, isEffective, result);
    if (!isEffective) return;
    const { author, isKnown } = this.#options;
    const isOwn = set.author === author && isKnown(set.number);
    const isLater = at.position > result.position.version;
    assert(isLater, "Each change set takes effect once, in the order of the log");
    this.#apply(set, at, result.position, isOwn ? undefined : result.written);
    result.position.version = at.position;
    // Parts of other sets were computed at an older version.
    for (const key of this.#parts.getKeys({})) this.#parts.remove(key);
  }

  #note({ author, number }: Numbered, isEffective: boolean, { own }: ApplyResult): void {
    // A set that comes twice takes effect the first time or never.
    if (author === this.#options.author && !own.get(number)) own.set(number, isEffective);
  }

  #apply(
    set: ChangeSet,
    { position, bytes }: { position: number; bytes: number },
    viewed: ViewPosition,
    written: Set<string> | undefined,
  ): void {
    const { local } = this.#options;
    const before = this.compaction();
    const compaction = compactionOf(set);
    const isNext = compaction !== undefined && compaction.id === before?.id;
    // Older rows that the compaction did not write are deleted rows.
    if (isNext && viewed.lacks === compaction.id) {
      removeRowsBetween(local, before?.at, compaction.at);
    }
    for (const write of set.writes) {
      // A view that is not behind has the rows of a compaction already.
      if (compaction !== undefined && local.has(write)) continue;
      local.write(write);
      written?.add(write.table);
    }
    if (compaction === undefined) return;
    if (!isNext) viewed.walk = { position, bytes: viewed.bytes - bytes };
    if (!compaction.isDone || viewed.walk === undefined) return;
    viewed.first = viewed.walk.position;
    viewed.bytes -= viewed.walk.bytes;
    delete viewed.walk;
    if (viewed.lacks === compaction.id) delete viewed.lacks;
  }
}

function tablesOf(found: ChangeSet | ChangeSetPart): Iterable<string> {
  return "writes" in found ? new Set(found.writes.map(({ table }) => table)) : found.tables;
}

const isLast = (found: ChangeSet | ChangeSetPart) =>
  "index" in found && found.index === found.count - 1;

/** Progress of the compaction that a set is part of. */
function compactionOf({ writes }: ChangeSet): CompactionProgress | undefined {
  const written = writes.findLast(({ table }) => table === COMPACTION_TABLE);
  return written?.value && (decodeValue(written.value) as CompactionProgress);
}
