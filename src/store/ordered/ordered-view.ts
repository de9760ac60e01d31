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
 * State of a view after it has applied the log entries before `next`, stored in the same
 * transaction as the rows that these entries write. The field names must not change, because they
 * are stored too.
 */
export interface ViewPosition {
  /** Log position of the first entry that the view has not applied yet. */
  next: number;
  /** Log position of the last change set that took effect; -1 if there is none. */
  version: number;
  /**
   * Log position at which an empty view must begin to read: the start of the last complete
   * compaction.
   */
  first: number;
  /** Size in bytes of the log entries from position `first` (included) to `next` (not included). */
  bytes: number;
  /**
   * Start of the running compaction: the log position of its first entry, and the size in bytes of
   * the entries from `ViewPosition.first` to this entry (not included). Absent while no compaction
   * runs.
   */
  walk?: { position: number; bytes: number };
  /**
   * Id of the compaction that the view must read completely before it has all rows. Absent when the
   * view has all rows.
   */
  lacks?: string;
}

const EMPTY: ViewPosition = { next: 0, version: -1, first: 0, bytes: 0 };

export interface OrderedViewOptions {
  local: LocalStore;
  name: string;
  logger: Logger;
  /** Author id of this node's change sets. */
  author: string;
  /**
   * Whether to call no listener for change set `number`, which this node has appended, because the
   * code that made the changes already knows of them. The tables of this change set are then not
   * added to `ApplyResult.written`.
   */
  isKnown(number: number): boolean;
}

/** Result of applying a batch of log entries to a view. */
export interface ApplyResult {
  position: ViewPosition;
  /**
   * Outcomes of this node's own change sets among the applied entries, by number of the change set:
   * true for a set that took effect.
   */
  own: Map<number, boolean>;
  /** Outcomes of all nodes' change sets among the applied entries, in the order of the log. */
  outcomes: SetOutcome[];
  /**
   * Names of the tables that the applied entries changed; the store calls its listeners with these
   * names. If `isKnown` returns true for a change set of this node, the tables of the set are not
   * added.
   */
  written: Set<string>;
  /** Whether log entries were deleted before this view had read them. */
  hasGap: boolean;
}

/** Outcome of a change set: its author, and whether it took effect. */
export interface SetOutcome {
  author: string;
  isEffective: boolean;
  /**
   * Whether the change set is a pass: it has no writes, and only says that its author gives up its
   * turn (see `passOf`).
   */
  isPass: boolean;
}

/** Local copy of a store's tables. It is computed by applying the change sets of an ordered log. */
export class OrderedView {
  readonly #positions: Table<ViewPosition, string>;
  readonly #compactions: Table<CompactionProgress, string>;
  /**
   * Parts of change sets whose last part has not arrived yet. A change set is split when it is too
   * large for one log entry. The key is [author, change set number, part index].
   */
  readonly #parts: Table<Uint8Array, [string, number, number]>;

  constructor(private readonly options: OrderedViewOptions) {
    this.#positions = options.local.table(POSITION_TABLE);
    this.#compactions = options.local.table(COMPACTION_TABLE);
    this.#parts = options.local.table(PARTS_TABLE);
  }

  /** Reads the view's stored state. Within a transaction the result includes uncommitted writes. */
  position(): ViewPosition {
    return this.#positions.get("place") ?? EMPTY;
  }

  /**
   * Reads the progress of the running or last compaction. Returns undefined before the first one.
   */
  compaction(): CompactionProgress | undefined {
    return this.#compactions.get(COMPACTION_KEY);
  }

  /**
   * Applies log entries in one transaction. After a failed commit, the caller may pass the same
   * entries again, because a change set that was stored nevertheless has no effect the second time.
   */
  async apply(entries: readonly LogEntry[]): Promise<ApplyResult> {
    const { local, logger, name } = this.options;
    const decoded = entries.map((entry) => ({ ...entry, found: decodeEntry(entry.bytes) }));
    for (const { position, bytes, found } of decoded) {
      // Tables cannot be opened within a transaction, and another node may have added a table.
      for (const table of found === undefined ? [] : tablesOf(found)) local.table(table);
      if (found === undefined && bytes.length > 0)
        logger.error({ position }, `${name} skips an entry that is not a change set`);
    }
    return local.change(() => {
      const before = this.position();
      const result: ApplyResult = {
        position: { ...before },
        own: new Map(),
        outcomes: [],
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
        else if (isLast(found)) this.#note(found, { isEffective: false, isPass: false }, result);
      }
      const { next } = result.position;
      assert(next >= before.next, "The position of a view never moves back");
      this.#positions.put("place", result.position);
      return result;
    });
  }

  /**
   * Returns the state with which the view starts again at the log's oldest entry, after entries
   * that it had not read were deleted. Throws unless this entry (`found`) starts a compaction,
   * which writes all rows again.
   */
  #beginAt(position: number, found: ChangeSet | ChangeSetPart | undefined): ViewPosition {
    const compaction = found && "writes" in found ? compactionOf(found) : undefined;
    if (found === undefined || compaction === undefined || compaction.at || compaction.isDone) {
      throw new Error(`Expected the log of ${this.options.name} to begin with a compaction`);
    }
    const { logger, name } = this.options;
    logger.info({ position }, `${name} is read again from the beginning of its log`);
    const version = found.base;
    return { next: position, version, first: position, bytes: 0, lacks: compaction.id };
  }

  /**
   * Stores one part of a change set that was split into several log entries. Returns the complete
   * change set at its last part. Returns undefined for every other part, and if a part is missing
   * or the set was not computed on `version`.
   */
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
      // Copies the bytes, because LMDB reads the next row into the same memory.
      parts.push(Buffer.from(stored));
    }
    const whole = decodeEntry(Buffer.concat([...parts, bytes]));
    return whole && "writes" in whole ? whole : undefined;
  }

  #decide(set: ChangeSet, at: { position: number; bytes: number }, result: ApplyResult): void {
    const isEffective = set.base === result.position.version;
    this.#note(set, { isEffective, isPass: set.writes.length === 0 }, result);
    if (!isEffective) return;
    const { author, isKnown } = this.options;
    const isOwn = set.author === author && isKnown(set.number);
    const isLater = at.position > result.position.version;
    assert(isLater, "Each change set takes effect once, in the order of the log");
    this.#apply(set, at, result.position, isOwn ? undefined : result.written);
    result.position.version = at.position;
    // Stored parts belong to sets that were computed on an older version: they have no effect.
    for (const key of this.#parts.getKeys({})) this.#parts.remove(key);
  }

  #note(
    { author, number }: Pick<ChangeSet, "author" | "number">,
    outcome: Omit<SetOutcome, "author">,
    { own, outcomes }: ApplyResult,
  ): void {
    outcomes.push({ author, ...outcome });
    // When a set is read twice, its first outcome counts.
    if (author === this.options.author && !own.get(number)) own.set(number, outcome.isEffective);
  }

  #apply(
    set: ChangeSet,
    { position, bytes }: { position: number; bytes: number },
    viewed: ViewPosition,
    written: Set<string> | undefined,
  ): void {
    const { local } = this.options;
    const before = this.compaction();
    const compaction = compactionOf(set);
    const isNext = compaction !== undefined && compaction.id === before?.id;
    // An incomplete view may have rows that were deleted: the compaction does not write these.
    if (isNext && viewed.lacks === compaction.id) {
      removeRowsBetween(local, before?.at, compaction.at);
    }
    for (const write of set.writes) {
      // A complete view has the rows of a compaction already.
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

/**
 * Returns the compaction progress that a change set writes. Returns undefined for a change set that
 * belongs to no compaction.
 */
function compactionOf({ writes }: ChangeSet): CompactionProgress | undefined {
  const written = writes.findLast(({ table }) => table === COMPACTION_TABLE);
  return written?.value && (decodeValue(written.value) as CompactionProgress);
}
