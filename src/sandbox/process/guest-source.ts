import type { Guest } from "./guest.ts";

/**
 * Provides the guest process for one piece of work: one and the same process until it dies, then a
 * new one.
 */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
  /** Whether the guest should end to make room, and the work should continue in another guest. */
  readonly isLeaving: boolean;
}
