import type { Guest } from "./guest.ts";

/** Provides the guest for some work: the same guest until it dies, then a new one. */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
  /** Whether the guest is to be given up, so that work should go on elsewhere. */
  readonly isLeaving: boolean;
}
