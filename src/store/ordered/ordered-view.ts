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

/** How far a view is; stored in the transaction that brought it there. */
export interface ViewPosition {
  /** Position of the first entry that is not in it. */
  next: number;
  /** Position of the last change set that took effect. */
  version: number;
  /** Position of the oldest entry that an empty view needs: where the last walk began. */
  first: number;
  /** Bytes of the entries from `first` on. */
  bytes: number;
  /** Where the walk that goes on began, and the bytes before it. */
  walk?: { position: number; bytes: number };
  /** Name of the walk at whose end the view has all rows, when it began at the walk's begin. */
  lacks?: string;
}

const EMPTY: ViewPosition = { next: 0, version: -1, first: 0, bytes: 0 };

export interface OrderedViewOptions {
  local: LocalStore;
  name: string;
  logger: Logger;
  /** Of this node. */
  author: string;
  /** Whether nobody needs news of a set of this node. */
  isKnown(number: number): boolean;
}

/** What came of entries. */
export interface ApplyResult {
  place: ViewPosition;
  /** Numbers of this node's sets among them: whether they took effect. */
  own: Map<number, boolean>;
  /** Tables that were written, but for sets of this node that nobody needs news of. */
  news: Set<string>;
  /** Entries were deleted before they were seen. */
  isBroken: boolean;
}

type Numbered = Pick<ChangeSet, "author" | "number">;

/** What a node has of an ordered log, as it applies one change set after the other. */
export class OrderedView {
  readonly #options: OrderedViewOptions;
  readonly #places: Table<ViewPosition, string>;
  readonly #walks: Table<CompactionProgress, string>;
  /** [author, number, index] → bytes, of sets that are not complete. */
  readonly #pieces: Table<Uint8Array, [string, number, number]>;

  constructor(options: OrderedViewOptions) {
    this.#options = options;
    this.#places = options.local.table(POSITION_TABLE);
    this.#walks = options.local.table(COMPACTION_TABLE);
    this.#pieces = options.local.table(PARTS_TABLE);
  }

  /** Within a transaction as of that. */
  position(): ViewPosition {
    return this.#places.get("place") ?? EMPTY;
  }

  compaction(): CompactionProgress | undefined {
    return this.#walks.get(COMPACTION_KEY);
  }

  /**
   * Brings the view forward. Entries may come twice, when it is not known whether they were stored:
   * the version is past them then, and what was decided the first time stands.
   */
  async apply(entries: readonly LogEntry[]): Promise<ApplyResult> {
    const { local } = this.#options;
    const decoded = entries.map((entry) => ({ ...entry, found: decodeEntry(entry.bytes) }));
    for (const { position, bytes, found } of decoded) {
      // No table can be opened within a transaction; another node may know more of them.
      for (const name of found === undefined ? [] : tablesOf(found)) local.table(name);
      if (found === undefined && bytes.length > 0) this.#tellStrange(position);
    }
    return local.change(() => {
      const taken: ApplyResult = {
        ...{ place: { ...this.position() }, own: new Map(), news: new Set(), isBroken: false },
      };
      for (const { position, bytes, found } of decoded) {
        if (position > taken.place.next) {
          taken.place = this.#beginAt(position, found);
          taken.isBroken = true;
        }
        taken.place.next = position + 1;
        taken.place.bytes += bytes.length;
        if (found === undefined) continue;
        const set = "writes" in found ? found : this.#completed(found, taken.place);
        if (set !== undefined) this.#decide(set, { position, bytes: bytes.length }, taken);
        else if (isLast(found)) this.#note(found, false, taken);
      }
      this.#places.put("place", taken.place);
      return taken;
    });
  }

  #tellStrange(position: number): void {
    const { logger, name } = this.#options;
    logger.error({ position }, `${name} passes over an entry that is no change set`);
  }

  /**
   * What came before is deleted, and needed no more: the log begins with a walk, which puts all rows
   * again. What the view has of before is replaced as the walk goes over it.
   */
  #beginAt(position: number, found: ChangeSet | ChangeSetPart | undefined): ViewPosition {
    const walk = found && "writes" in found ? walkOf(found) : undefined;
    if (found === undefined || walk === undefined || walk.at !== undefined || walk.isDone) {
      throw new Error(`Expected the log of ${this.#options.name} to begin with a rewriting`);
    }
    const { logger, name } = this.#options;
    logger.info({ position }, `${name} is read again from where its log begins`);
    return {
      ...{ next: position, version: found.base, first: position, bytes: 0, lacks: walk.id },
    };
  }

  /** The set of which this is the last piece, when all of them are of the version that is met. */
  #completed(piece: ChangeSetPart, { version }: ViewPosition): ChangeSet | undefined {
    if (piece.base !== version) return undefined;
    const { author, number, index, count, bytes } = piece;
    if (index < count - 1) {
      this.#pieces.put([author, number, index], bytes);
      return undefined;
    }
    const parts: Uint8Array[] = [];
    for (let i = 0; i < index; i++) {
      const part = this.#pieces.get([author, number, i]);
      if (part === undefined) return undefined;
      // LMDB reads the next one into the same memory.
      parts.push(Buffer.from(part));
    }
    const whole = decodeEntry(Buffer.concat([...parts, bytes]));
    return whole && "writes" in whole ? whole : undefined;
  }

  #decide(set: ChangeSet, at: { position: number; bytes: number }, taken: ApplyResult): void {
    const isEffective = set.base === taken.place.version;
    this.#note(set, isEffective, taken);
    if (!isEffective) return;
    const { author, isKnown } = this.#options;
    const isOwn = set.author === author && isKnown(set.number);
    this.#apply(set, at, taken.place, isOwn ? undefined : taken.news);
    taken.place.version = at.position;
    // Pieces of other sets are of a version that is past.
    for (const key of this.#pieces.getKeys({})) this.#pieces.remove(key);
  }

  #note({ author, number }: Numbered, isEffective: boolean, { own }: ApplyResult): void {
    // A set that comes twice takes effect the first time, if ever.
    if (author === this.#options.author && !own.get(number)) own.set(number, isEffective);
  }

  #apply(
    set: ChangeSet,
    { position, bytes }: { position: number; bytes: number },
    place: ViewPosition,
    news: Set<string> | undefined,
  ): void {
    const { local } = this.#options;
    const before = this.compaction();
    const walk = walkOf(set);
    const isNext = walk !== undefined && walk.id === before?.id;
    // A row of before that the walk has not found is gone.
    if (isNext && place.lacks === walk.id) removeRowsBetween(local, before?.at, walk.at);
    for (const write of set.writes) {
      // A walk puts rows again that a view which is not behind has just like that.
      if (walk !== undefined && local.has(write)) continue;
      local.write(write);
      news?.add(write.table);
    }
    if (walk === undefined) return;
    if (!isNext) place.walk = { position, bytes: place.bytes - bytes };
    if (!walk.isDone || place.walk === undefined) return;
    place.first = place.walk.position;
    place.bytes -= place.walk.bytes;
    delete place.walk;
    if (place.lacks === walk.id) delete place.lacks;
  }
}

function tablesOf(found: ChangeSet | ChangeSetPart): Iterable<string> {
  return "writes" in found ? new Set(found.writes.map(({ table }) => table)) : found.tables;
}

const isLast = (found: ChangeSet | ChangeSetPart) =>
  "index" in found && found.index === found.count - 1;

/** The walk as a set leaves it, when that is of a walk. */
function walkOf({ writes }: ChangeSet): CompactionProgress | undefined {
  const written = writes.findLast(({ table }) => table === COMPACTION_TABLE);
  return written?.value && (decodeValue(written.value) as CompactionProgress);
}
