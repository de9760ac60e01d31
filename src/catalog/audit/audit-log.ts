import { earliestNow } from "../../observe/ages.ts";
import { encodeValue } from "../../store/row-write.ts";
import type { Store } from "../../store/store.ts";
import type { Table } from "../../store/table.ts";
import { firstIdAt, isId } from "../ids.ts";
import { keysBelow, LAST } from "../store.ts";
import type { AuditEntry, AuditFilter } from "./audit-entry.ts";
import {
  AUDIT_BYTES_MAX,
  AUDIT_ENTRIES_SCANNED_MAX,
  AUDIT_REFUSALS_BYTES_MAX,
  AUDIT_WORKSPACE_BYTES_MAX,
} from "./limits.ts";

/** Default bounds of the audit log. They limit its size, but not the age of its entries. */
export const AUDIT_BOUNDS = {
  /** Age in milliseconds above which entries are deleted. 0 means no bound on the age. */
  ageMs: 0,
  workspaceBytes: AUDIT_WORKSPACE_BYTES_MAX,
  bytes: AUDIT_BYTES_MAX,
  refusalsBytes: AUDIT_REFUSALS_BYTES_MAX,
};
/** Bounds on age and size above which the audit log deletes its oldest entries. */
export type AuditBounds = typeof AUDIT_BOUNDS;

/**
 * Id of a group of audit entries, whose size is bounded separately. A workspace has two groups:
 * entries about refused requests with its tokens, and all others. Entries about unknown tokens are
 * one more group.
 */
type EntryGroup = string;
interface EntryGroupSize {
  bytes: number;
  /**
   * Start of the time for which the log has all entries of the group, in milliseconds since the
   * epoch. Older entries may have been deleted.
   */
  since: number;
}

type EntryKey = [group: EntryGroup, id: string];
/**
 * Key of the index by item: the id of an item, token or member that an audit entry names, then the
 * id of the audit entry.
 */
type IndexKey = [itemId: string, id: string];

/** Estimated bytes of an entry's key. `INDEX_BYTES` is the estimate for one row of the index. */
const KEY_BYTES = 64;
const INDEX_BYTES = 96;
/** Maximum number of old entries that are deleted when one entry is added. */
const DELETED_PER_ADDED_MAX = 4;
/** Number of entries read at once. Between two such reads, no database cursor is open. */
const READ_AT_ONCE_MAX = 100;
/** Key of the row in the table `#sizes` that has the total bytes of all groups of entries. */
const ALL = "all";
const REFUSED = " refused";

export interface FoundEntries {
  /** Audit entries that the search found, newest first. */
  entries: AuditEntry[];
  /**
   * Id of the last examined entry. To continue the search, the caller passes it as `after`. Absent
   * when no further entry can be found.
   */
  reached?: string;
  /**
   * Time, in milliseconds since the epoch, from which the log still has every entry of the searched
   * groups (see `EntryGroup`). Earlier entries may have been deleted. Absent if these groups never
   * had an entry.
   */
  keptSince?: number;
}

/** Tables of the audit log. The methods that write must be called inside a transaction. */
export class AuditTables {
  readonly #entries;
  readonly #byItem;
  readonly #sizes;
  readonly #bounds: AuditBounds;

  constructor(store: Store, bounds: AuditBounds) {
    this.#entries = store.table<AuditEntry, EntryKey>("audit-entries");
    this.#byItem = store.table<EntryGroup, IndexKey>("audit-entries-by-item");
    this.#sizes = store.table<EntryGroupSize, string>("audit-sizes");
    this.#bounds = bounds;
  }

  /**
   * Stores an entry. If the entry's group or the whole log then exceeds a bound, also deletes up to
   * `DELETED_PER_ADDED_MAX` old entries.
   */
  add(entry: AuditEntry): void {
    const group = groupOf(entry);
    this.#put(group, entry);
    for (let left = DELETED_PER_ADDED_MAX; left > 0; left--) {
      if (!this.#deleteOldest(group, earliestNow())) break;
    }
  }

  /**
   * Replaces the stored entry with the same id. Does nothing if that entry was deleted meanwhile.
   */
  replace(entry: AuditEntry): void {
    const group = groupOf(entry);
    const before = this.#entries.get([group, entry.id]);
    if (before === undefined) return;
    this.#remove(group, before);
    this.#put(group, entry);
  }

  /** Whether the audit log exceeds one of its bounds on age and size. */
  isOverBounds(now: number): boolean {
    return this.#groups().some((group) => this.#overfull(group, now) !== undefined);
  }

  /**
   * Deletes the oldest entries of groups until neither a group nor the whole log exceeds a bound,
   * but at most `count` entries. Returns the number of deleted entries.
   */
  trim(now: number, count: number): number {
    let deleted = 0;
    for (const group of this.#groups()) {
      while (deleted < count && this.#deleteOldest(group, now)) deleted++;
    }
    return deleted;
  }

  /**
   * Finds at most `count` of a workspace's entries that match `filter`, newest first. To continue a
   * search, pass `reached` of its result as `after`. With `others`, also finds entries about
   * unknown tokens, which belong to no workspace.
   */
  find(
    workspaceId: string,
    filter: AuditFilter,
    { after, count, others }: { after?: string; count: number; others: boolean },
  ): FoundEntries {
    const groups = [workspaceId, workspaceId + REFUSED, ...(others ? [REFUSED] : [])];
    const oldestKept = this.#bounds.ageMs > 0 ? earliestNow() - this.#bounds.ageMs : 0;
    const sinces = groups.flatMap((group) => this.#sizes.get(group)?.since ?? []);
    const keptSince = Math.max(oldestKept, ...sinces);
    const kept = sinces.length === 0 ? {} : { keptSince };
    const entries: AuditEntry[] = [];
    let [scanned, reached] = [0, after];
    const from = Math.max(oldestKept, filter.from ?? 0);
    // If the clock was set back, the time in an id is later than `at`, but it is never earlier.
    const oldestId = firstIdAt(from);
    for (const entry of this.#newestFirst(groups, filter.resource ?? filter.actor, after)) {
      if (entry.id < oldestId) break;
      if (scanned === AUDIT_ENTRIES_SCANNED_MAX || entries.length === count) {
        return { entries, reached: reached!, ...kept };
      }
      scanned += 1;
      reached = entry.id;
      if (matches(entry, { ...filter, from })) entries.push(entry);
    }
    return { entries, ...kept };
  }

  *#newestFirst(
    groups: readonly EntryGroup[],
    item: string | undefined,
    before = LAST,
  ): Generator<AuditEntry> {
    const ranges: Iterator<AuditEntry, undefined>[] =
      item === undefined
        ? groups.map((group) => rowsBefore(this.#entries, group, before).map(valueOfRow))
        : [this.#entriesOf(item, new Set(groups), before)];
    const heads = ranges.map((range) => ({ range, next: range.next() }));
    for (;;) {
      const left = heads.filter(({ next }) => !next.done);
      if (left.length === 0) return;
      const newest = left.reduce((a, b) => (a.next.value!.id > b.next.value!.id ? a : b));
      yield newest.next.value!;
      newest.next = newest.range.next();
    }
  }

  #entriesOf(item: string, groups: ReadonlySet<EntryGroup>, before: string) {
    return rowsBefore(this.#byItem, item, before).flatMap(({ key, value }) => {
      const entry = groups.has(value) ? this.#entries.get([value, key[1]]) : undefined;
      return entry === undefined ? [] : [entry];
    });
  }

  /**
   * Deletes the oldest entry of the group that `#overfull` returns. Returns false if there is
   * nothing to delete, because neither `group` nor the whole log exceeds its bounds.
   */
  #deleteOldest(group: EntryGroup, now: number): boolean {
    const overfull = this.#overfull(group, now);
    if (overfull === undefined) return false;
    const entry = this.#oldest(overfull);
    if (entry === undefined) return false;
    this.#remove(overfull, entry);
    // A group has a size as soon as it has an entry.
    const { bytes, since } = this.#sizes.get(overfull)!;
    // The clock may have been set back between two entries.
    this.#sizes.put(overfull, { bytes, since: Math.max(since, entry.at + 1) });
    return true;
  }

  /**
   * Returns the group whose oldest entry must be deleted: `group` if it exceeds a bound on its age
   * or size, otherwise the largest group if all together are too large. Returns undefined if no
   * bound is exceeded.
   */
  #overfull(group: EntryGroup, now: number): EntryGroup | undefined {
    const { ageMs, bytes, workspaceBytes, refusalsBytes } = this.#bounds;
    const max = group.endsWith(REFUSED) ? refusalsBytes : workspaceBytes;
    if (this.#bytesOf(group) > max) return group;
    const oldest = ageMs > 0 ? this.#oldest(group) : undefined;
    if (oldest !== undefined && oldest.at < now - ageMs) return group;
    if (this.#bytesOf(ALL) <= bytes) return undefined;
    return this.#groups().reduce((a, b) => (this.#bytesOf(b) > this.#bytesOf(a) ? b : a));
  }

  #bytesOf(group: EntryGroup | typeof ALL): number {
    return this.#sizes.get(group)?.bytes ?? 0;
  }

  #oldest(group: EntryGroup): AuditEntry | undefined {
    const [first] = [...this.#entries.getRange({ ...keysBelow(group), limit: 1 })];
    return first?.value;
  }

  #groups(): EntryGroup[] {
    return [...this.#sizes.getKeys()].filter((group) => group !== ALL);
  }

  #put(group: EntryGroup, entry: AuditEntry): void {
    this.#entries.put([group, entry.id], entry);
    for (const id of itemsOf(entry)) this.#byItem.put([id, entry.id], group);
    this.#resize(group, bytesOf(entry), entry.at);
  }

  #remove(group: EntryGroup, entry: AuditEntry): void {
    this.#entries.remove([group, entry.id]);
    for (const id of itemsOf(entry)) this.#byItem.remove([id, entry.id]);
    this.#resize(group, -bytesOf(entry), entry.at);
  }

  #resize(group: EntryGroup, bytes: number, at: number): void {
    for (const key of [group, ALL]) {
      const { bytes: before, since } = this.#sizes.get(key) ?? { bytes: 0, since: at };
      this.#sizes.put(key, { bytes: before + bytes, since });
    }
  }
}

/**
 * Yields the rows of `table` whose key consists of `first` and an id below `before`, newest first.
 * Reads them in portions of `READ_AT_ONCE_MAX` rows.
 */
function* rowsBefore<V>(table: Table<V, EntryKey>, first: string, before: string) {
  const { start: end } = keysBelow(first);
  for (let at = before; ; ) {
    const start: EntryKey = [first, at];
    const range = { start, end, reverse: true, limit: READ_AT_ONCE_MAX };
    const rows = [...table.getRange(range)].filter(({ key }) => key[1] !== at);
    if (rows.length === 0) return;
    yield* rows;
    at = rows.at(-1)!.key[1];
  }
}

const valueOfRow = <V>({ value }: { value: V }) => value;

/**
 * Returns the group to which an entry belongs. A workspace's entries about refused tokens have
 * their own group, so they do not count towards the bound on its other entries.
 */
function groupOf({ workspaceId, requests }: AuditEntry): EntryGroup {
  return requests === undefined ? workspaceId : workspaceId + REFUSED;
}

/**
 * Returns the ids by which a search finds an entry: the ids of the entry's items, of its token and
 * of its member.
 */
function itemsOf({ resource, concerns = [], actor }: AuditEntry): Set<string> {
  const ids = [resource?.id, ...concerns, actor.tokenId, actor.memberId];
  return new Set(ids.flatMap((id = "") => (isId(id) ? [id] : [])));
}

function bytesOf(entry: AuditEntry): number {
  return encodeValue(entry).length + KEY_BYTES + itemsOf(entry).size * INDEX_BYTES;
}

/** Whether an entry meets all conditions of `filter`. */
function matches(entry: AuditEntry, filter: AuditFilter): boolean {
  const { actor, action, resource, from = 0, to = Infinity } = filter;
  if (entry.at < from || entry.at >= to) return false;
  const actors = [entry.actor.tokenId, entry.actor.memberId];
  if (actor !== undefined && !actors.includes(actor)) return false;
  const items = [entry.resource?.id, ...(entry.concerns ?? [])];
  if (resource !== undefined && !items.includes(resource)) return false;
  return action === undefined || entry.action === action || entry.action.startsWith(`${action}.`);
}
