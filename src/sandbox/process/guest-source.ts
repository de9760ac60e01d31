import type { Guest } from "./guest.ts";

/**
 * Provides the guest process for one piece of work: one and the same process until it dies, then a
 * new one.
 */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
  /**
   * Whether the guest process should end to make room, so that the rest of the work has to continue
   * in another guest.
   */
  readonly isLeaving: boolean;
}
