import type { Guest } from "./guest.ts";

/** Provides the guest process for some work: the same process until it dies, then a new one. */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
  /** Whether the guest process must make room, so that the work should continue in another one. */
  readonly isLeaving: boolean;
}
