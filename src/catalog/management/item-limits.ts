import { ApiError } from "../../errors.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";

/** Kinds of items, such as sources, whose number in a workspace is limited by a setting. */
export const limitedItems = [
  "sources",
  "destinations",
  "connections",
  "transformations",
  "libraries",
  "revisions",
  "members",
  "tokens",
  "credentials",
] as const;
export type LimitedItem = (typeof limitedItems)[number];

/**
 * Maximum number of items of each kind that a workspace may own. A kind that is missing, or has the
 * number 0, is unlimited.
 */
export type ItemsMax = Partial<Record<LimitedItem, number>>;

/**
 * Number of items that a workspace may add before its items are counted again. Counting takes time
 * in proportion to the items, so counting for each new item would slow down large workspaces.
 */
const ADDED_WITHOUT_COUNT_MAX = 100;

/**
 * Checks the limits on the number of items per workspace. A workspace above a limit keeps its items
 * and cannot add more. In a cluster, each node may let a workspace exceed a limit by
 * `ADDED_WITHOUT_COUNT_MAX` items.
 */
export class ItemLimits {
  #max: ItemsMax;
  readonly #counts: Record<LimitedItem, (workspaceId: string) => number>;
  /**
   * Number of items that a workspace may add before its items are counted again, by workspace and
   * kind.
   */
  readonly #room = new Map<string, number>();

  constructor(max: ItemsMax, tables: Tables, code: CodeTables) {
    this.#max = max;
    this.#counts = {
      sources: tables.sources.count,
      destinations: tables.destinations.count,
      connections: tables.connections.count,
      members: tables.members.count,
      tokens: tables.tokens.count,
      credentials: tables.credentials.count,
      transformations: (workspaceId) => code.count(workspaceId, "transformation"),
      libraries: (workspaceId) => code.count(workspaceId, "library"),
      revisions: code.revisions.count,
    };
  }

  /**
   * Sets the maximum number of items of each kind that a workspace may own. A workspace's items are
   * counted again before it adds its next item.
   */
  setMax(max: ItemsMax): void {
    this.#max = max;
    this.#room.clear();
  }

  /**
   * Throws when the workspace has reached the limit for this kind of item. Called once for each new
   * item, in the transaction that adds the item.
   */
  expectRoom(workspaceId: string, items: LimitedItem): void {
    const max = this.#max[items] ?? 0;
    if (max === 0) return;
    const key = `${items} ${workspaceId}`;
    const left = this.#room.get(key) || this.#countRoom(workspaceId, items, max);
    this.#room.set(key, left - 1);
  }

  #countRoom(workspaceId: string, items: LimitedItem, max: number): number {
    const room = max - this.#counts[items](workspaceId);
    if (room > 0) return Math.min(room, ADDED_WITHOUT_COUNT_MAX);
    throw new ApiError(
      "conflict",
      `Expected at most ${max} ${items} of a workspace, got one more; the setting workspace.${items} is the limit`,
    );
  }
}
