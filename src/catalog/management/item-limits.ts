import { ApiError } from "../../errors.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";

/** Kinds of items whose number in a workspace has a limit, which is a setting. */
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

/** Most items of each kind that a workspace may own. 0, or a kind that is left out, is no limit. */
export type ItemsMax = Partial<Record<LimitedItem, number>>;

/**
 * Number of items that a workspace may add before its items are counted again. A count takes time in
 * proportion to the items, so that counting for each new item would slow down the others.
 */
const ADDED_WITHOUT_COUNT_MAX = 100;

/**
 * Limits of what each workspace owns. A workspace that is above a limit keeps what it has, and can
 * add nothing. Other nodes of a cluster may add items between two counts, so that a workspace may
 * have `ADDED_WITHOUT_COUNT_MAX` items more than its limit for each node.
 */
export class ItemLimits {
  readonly #max: ItemsMax;
  readonly #counts: Record<LimitedItem, (workspaceId: string) => number>;
  /** Number of items that a workspace may add without another count, by workspace and kind. */
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
   * Throws when the workspace has as many items of this kind as it may own. Called once for each new
   * item, in the transaction that adds it.
   */
  expectRoom(workspaceId: string, items: LimitedItem): void {
    const max = this.#max[items] ?? 0;
    if (max === 0) return;
    const key = `${items} ${workspaceId}`;
    const room = this.#room.get(key) ?? 0;
    const left = room > 0 ? room : this.#countRoom(workspaceId, items, max);
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
