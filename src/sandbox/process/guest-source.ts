import type { Guest } from "./guest.ts";

/**
 * Provides the guest process that does one piece of work. `guest` returns the same process each
 * time while that process lives, and then a new one.
 */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
  /**
   * Whether the guest process should end, to make room for guests of other workspaces. The work
   * that is left then continues in another guest.
   */
  readonly isLeaving: boolean;
}

/** Work that is done in a guest process. */
export type GuestUse<T> = (source: GuestSource) => Promise<T>;
