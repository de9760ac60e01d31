import {
  GATHERED_BYTES_MAX,
  LANE_IN_FLIGHT_BYTES_MAX,
  LANES_HELD_BYTES_MAX,
  WORKSPACE_HELD_BYTES_MAX,
} from "../settings/limits.ts";
import type { Notifier } from "./clock.ts";
import { LANE_HELD_BYTES_MIN } from "./limits.ts";

/** Bytes that the lanes of a workspace may always hold, whatever the other workspaces hold. */
const WORKSPACE_HELD_BYTES_MIN = 2 << 20;

/** As `LANE_IN_FLIGHT_BYTES_MAX`, of a lane that gathers. */
const GATHERING_HELD_BYTES_MAX = 2 * GATHERED_BYTES_MAX;

/** What the lanes of one workspace hold. */
interface Account {
  bytes: number;
  /** Events that were handed on to be delivered and have not settled. */
  out: number;
  shares: number;
}

/**
 * The bytes that lanes hold in memory: events that they took, and what code made of them. They are
 * bounded for a lane, for a workspace and in all, since what waits for a receiver that never
 * answers waits long. No workspace stops another:
 * - what a workspace may hold at least does not depend on the others;
 * - a lane that holds little goes on twice as far as one that holds much;
 * - an event of ordinary size always finds room in a lane that has nothing out.
 */
export class Holdings {
  #bytes = 0;
  readonly #accounts = new Map<string, Account>();
  readonly #waiting = new Map<Share, Notifier>();
  /** Lanes that gather, with what has them deliver what they have. */
  readonly #gathering = new Map<Share, () => void>();

  get bytes(): number {
    return this.#bytes;
  }

  /** A new lane's share. */
  share(workspaceId: string): Share {
    const account = this.#accounts.get(workspaceId) ?? { bytes: 0, out: 0, shares: 0 };
    this.#accounts.set(workspaceId, account);
    account.shares += 1;
    const share: Share = new Share(account, {
      bytes: () => this.#bytes,
      changed: (by) => {
        this.#bytes += by;
        if (by <= 0) this.#tell();
      },
      wait: (notifier) => {
        this.#waiting.set(share, notifier);
        if (this.#gathering.size > 0) this.#press(share);
      },
      gathers: (press) => this.#gathering.set(share, press),
      closed: () => {
        this.#waiting.delete(share);
        this.#gathering.delete(share);
        account.shares -= 1;
        if (account.shares === 0) this.#accounts.delete(workspaceId);
      },
    });
    return share;
  }

  /** One finds no room: those that hold much only to gather more give it back. */
  #press(waiting: Share): void {
    const isFull = this.#bytes >= LANES_HELD_BYTES_MAX;
    for (const [share, press] of this.#gathering) {
      const isConcerned = isFull || share.isOfSameWorkspace(waiting);
      if (share !== waiting && isConcerned && share.bytes >= LANE_HELD_BYTES_MIN) press();
    }
  }

  /** Something was given back: lanes that wait and have room now go on. */
  #tell(): void {
    for (const [share, notifier] of this.#waiting) {
      if (!share.isOpen) continue;
      this.#waiting.delete(share);
      notifier.notify();
    }
  }
}

interface ShareHost {
  /** Bytes that all lanes hold. */
  bytes(): number;
  changed(by: number): void;
  wait(notifier: Notifier): void;
  gathers(press: () => void): void;
  closed(): void;
}

export class Share {
  readonly #account: Account;
  readonly #host: ShareHost;
  #bytes = 0;
  #out = 0;
  #isClosed = false;
  #bytesMax = LANE_IN_FLIGHT_BYTES_MAX;

  constructor(account: Account, host: ShareHost) {
    this.#account = account;
    this.#host = host;
  }

  get bytes(): number {
    return this.#bytes;
  }

  isOfSameWorkspace(other: Share): boolean {
    return this.#account === other.#account;
  }

  /** The lane gathers: it may hold more, and `press` is called when others need the room. */
  gathers(press: () => void): void {
    this.#bytesMax = GATHERING_HELD_BYTES_MAX;
    this.#host.gathers(press);
  }

  /** Bytes that may still be added; zero or less when there is no room. */
  get room(): number {
    const { bytes } = this.#account;
    const scale = this.#bytes < LANE_HELD_BYTES_MIN ? 2 : 1;
    const ofWorkspace = scale * WORKSPACE_HELD_BYTES_MAX - bytes;
    const ofAll = scale * LANES_HELD_BYTES_MAX - this.#host.bytes();
    const ofMinimum = WORKSPACE_HELD_BYTES_MIN - bytes;
    const shared = Math.min(ofWorkspace, Math.max(ofAll, ofMinimum));
    return Math.min(this.#bytesMax - this.#bytes, shared);
  }

  /** Whether an event of any size can be handed on. */
  get isOpen(): boolean {
    // When nothing of the workspace is out, nothing would ever be given back to wait for.
    return this.room > 0 || this.#account.out === 0;
  }

  /** Whether an event of ordinary size can be handed on. */
  get isOpenForOne(): boolean {
    return this.isOpen || this.#out === 0;
  }

  add(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes += bytes;
    this.#account.bytes += bytes;
    this.#host.changed(bytes);
  }

  /** Adds what an event became, of so many bytes; false when there is no room. */
  emit(bytes: number, added: number): boolean {
    if (!this.isOpen && !(this.#out === 0 && bytes <= LANE_HELD_BYTES_MIN)) return false;
    this.begin();
    this.add(added);
    return true;
  }

  /** An event is out: it was handed on to be delivered. */
  begin(): void {
    if (this.#isClosed) return;
    this.#out += 1;
    this.#account.out += 1;
  }

  /** So many events have settled. */
  end(events: number): void {
    if (this.#isClosed) return;
    this.#out -= events;
    this.#account.out -= events;
    if (this.#account.out === 0) this.#host.changed(0);
  }

  /** Notifies once, when there may be room again. */
  wait(notifier: Notifier): void {
    this.#host.wait(notifier);
  }

  /** Gives back all that the lane holds; what still settles does not count any more. */
  close(): void {
    this.end(this.#out);
    this.add(-this.#bytes);
    this.#isClosed = true;
    this.#host.closed();
  }
}
