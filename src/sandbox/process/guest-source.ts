import type { Guest } from "./guest.ts";

/**
 * Provides the guest process for one piece of work. `guest` returns the same process as long as
 * that process lives. After its end, `guest` returns a new one.
 */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
  /**
   * Whether the guest process should end to make room for guests of other workspaces. If so, the
   * rest of the work continues in another guest.
   */
  readonly isLeaving: boolean;
}

/** Function that does work in the guest process of `source`. Resolves with the work's result. */
export type GuestUse<T> = (source: GuestSource) => Promise<T>;
