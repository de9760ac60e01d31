import { assert } from "../assert.ts";
import {
  GATHERED_BYTES_MAX,
  GATHERED_EVENTS_MAX,
  LANE_IN_FLIGHT_BYTES_MAX,
  LANE_IN_FLIGHT_EVENTS_MAX,
  LANES_HELD_BYTES_MAX,
  WORKSPACE_HELD_BYTES_MAX,
} from "../settings/limits.ts";
import type { Notifier } from "./clock.ts";
import { LANE_HELD_BYTES_MIN } from "./limits.ts";
import type { LaneEvent } from "./model/lane-event.ts";

/** Bytes that the lanes of a workspace may always hold, whatever the other workspaces hold. */
const WORKSPACE_HELD_BYTES_MIN = 2 << 20;

/**
 * Events of one lane that were read and whose outcome is not on disk: a crash repeats at most
 * these.
 */
export const LANE_UNCOMMITTED_EVENTS_MAX = 8_192;

/** Bounds of one lane. */
interface LaneBounds {
  /** Events that were read and have not settled. */
  unsettledEvents: number;
  /** Events that were read and whose outcome is not on disk. */
  uncommittedEvents: number;
  bytes: number;
}

const bounds: LaneBounds = {
  unsettledEvents: LANE_IN_FLIGHT_EVENTS_MAX,
  uncommittedEvents: LANE_UNCOMMITTED_EVENTS_MAX,
  bytes: LANE_IN_FLIGHT_BYTES_MAX,
};
/** Bounds of a lane that gathers: it fills the next delivery while one is under way. */
const gatheringBounds: LaneBounds = {
  unsettledEvents: GATHERED_EVENTS_MAX * 2,
  uncommittedEvents: GATHERED_EVENTS_MAX * 3,
  bytes: GATHERED_BYTES_MAX * 2,
};

/** Memory that the lanes of one workspace hold together. */
interface WorkspaceUse {
  id: string;
  bytes: number;
  /** Events that were dispatched to be delivered and have not settled. */
  dispatched: number;
  lanes: number;
}

/**
 * The memory that all lanes may hold: events that they read, and the outputs of user code. Bytes
 * are bounded per lane, per workspace and in all, since events for a receiver that never answers
 * wait long. No workspace stops another:
 * - each workspace may hold a minimum that does not depend on the others;
 * - a lane that holds little may go on until twice the bounds;
 * - a lane that has dispatched nothing may dispatch one event of ordinary size.
 */
export class MemoryBudget {
  #bytes = 0;
  readonly #workspaces = new Map<string, WorkspaceUse>();
  readonly #waiting = new Map<LaneBudget, Notifier>();
  readonly #flushes = new Map<LaneBudget, () => void>();

  get bytes(): number {
    return this.#bytes;
  }

  /** Opens the budget of a new lane; `gathers` tells whether the lane gathers large deliveries. */
  openLane(workspaceId: string, gathers = false): LaneBudget {
    const empty = { id: workspaceId, bytes: 0, dispatched: 0, lanes: 0 };
    const workspace = this.#workspaces.get(workspaceId) ?? empty;
    this.#workspaces.set(workspaceId, workspace);
    workspace.lanes += 1;
    return new LaneBudget(this, workspace, gathers ? gatheringBounds : bounds);
  }

  /** Adds bytes of a lane; lanes that wait go on when bytes were freed. For `LaneBudget`. */
  add(bytes: number): void {
    this.#bytes += bytes;
    assert(this.#bytes >= 0, "The lanes hold no negative number of bytes");
    if (bytes <= 0) this.notifyWaiting();
  }

  /** Wakes the lanes that wait and have room now. For `LaneBudget`. */
  notifyWaiting(): void {
    for (const [lane, notifier] of this.#waiting) {
      if (!lane.isOpen) continue;
      this.#waiting.delete(lane);
      notifier.notify();
    }
  }

  /**
   * Notifies once when the lane may have room. Lanes that hold much only to gather more have to
   * deliver it now, where their memory is what the lane waits for. For `LaneBudget`.
   */
  wait(waiting: LaneBudget, notifier: Notifier): void {
    this.#waiting.set(waiting, notifier);
    const isFull = this.#bytes >= LANES_HELD_BYTES_MAX;
    for (const [lane, flush] of this.#flushes) {
      if (lane === waiting || lane.bytes < LANE_HELD_BYTES_MIN) continue;
      if (isFull || lane.workspace === waiting.workspace) flush();
    }
  }

  /** Calls `flush` when others need the memory that a gathering lane holds. For `LaneBudget`. */
  onPressure(lane: LaneBudget, flush: () => void): void {
    this.#flushes.set(lane, flush);
  }

  /** Forgets a lane that has given back all bytes. For `LaneBudget`. */
  closeLane(lane: LaneBudget): void {
    const { workspace } = lane;
    this.#waiting.delete(lane);
    this.#flushes.delete(lane);
    workspace.lanes -= 1;
    if (workspace.lanes > 0) return;
    this.#workspaces.delete(workspace.id);
    assert(
      workspace.bytes === 0 && workspace.dispatched === 0,
      "A workspace without lanes holds no memory",
    );
  }
}

/**
 * The memory of one lane: the events that it has read, until their outcomes are on disk. Events are
 * bounded twice: the unsettled ones, so that a lane whose destination is down holds little memory,
 * and the uncommitted ones, so that a lane whose commits fail repeats little after a crash.
 */
export class LaneBudget {
  readonly workspace: WorkspaceUse;
  readonly #budget: MemoryBudget;
  readonly #bounds: LaneBounds;
  /** Events that are not committed, in the order in which they were taken. */
  readonly #events = new Set<LaneEvent>();
  #unsettled = 0;
  #dispatched = 0;
  #bytes = 0;
  #isClosed = false;

  constructor(budget: MemoryBudget, workspace: WorkspaceUse, bounds: LaneBounds) {
    this.#budget = budget;
    this.workspace = workspace;
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of events whose outcome is not on disk. */
  get uncommitted(): number {
    return this.#events.size;
  }

  get oldest(): LaneEvent | undefined {
    const [event] = this.#events;
    return event;
  }

  /** Events and bytes that may still be taken; no events when any bound is reached. */
  get room(): { events: number; bytes: number } {
    // A lane that holds nothing may take one event, whatever the other lanes hold.
    const bytes = Math.max(this.#freeBytes, this.#events.size === 0 ? 1 : 0);
    const { unsettledEvents, uncommittedEvents } = this.#bounds;
    const unsettled = unsettledEvents - this.#unsettled;
    const uncommitted = uncommittedEvents - this.#events.size;
    return { events: bytes > 0 ? Math.min(unsettled, uncommitted) : 0, bytes };
  }

  get isFull(): boolean {
    return this.room.events <= 0;
  }

  /** Whether an event of any size may be dispatched. */
  get isOpen(): boolean {
    // While the workspace has dispatched nothing, no event settles that could free memory.
    return this.#freeBytes > 0 || this.workspace.dispatched === 0;
  }

  /** Whether the event may be dispatched, as far as the size of its outputs is known. */
  canDispatch(event: LaneEvent): boolean {
    return this.isOpen || (!event.isLarge && this.#dispatched === 0);
  }

  take(event: LaneEvent): void {
    this.#events.add(event);
    this.#unsettled += 1;
    this.#add(event.bytes);
  }

  /** Reserves memory for the event's outputs; false if over budget. */
  dispatch(event: LaneEvent, outputBytes: number): boolean {
    event.isLarge = outputBytes > LANE_HELD_BYTES_MIN;
    if (!this.canDispatch(event)) return false;
    this.dispatchEmpty();
    const added = Math.max(0, outputBytes - event.bytes);
    event.bytes += added;
    this.#add(added);
    return true;
  }

  /** Counts an event as dispatched that ends without an output. */
  dispatchEmpty(): void {
    if (this.#isClosed) return;
    this.#dispatched += 1;
    this.workspace.dispatched += 1;
  }

  /** Counts events as settled: all of their outputs have ended. */
  settle(events: number): void {
    this.#unsettled -= events;
    assert(this.#unsettled >= 0, "A lane settles no more events than it took");
    if (this.#isClosed) return;
    this.#dispatched -= events;
    this.workspace.dispatched -= events;
    assert(this.#dispatched >= 0, "A lane settles no more events than it dispatched");
    if (this.workspace.dispatched === 0) this.#budget.notifyWaiting();
  }

  /** Frees the memory of events whose outcomes are on disk. */
  commit(events: readonly LaneEvent[]): void {
    let bytes = 0;
    for (const event of events) if (this.#events.delete(event)) bytes += event.bytes;
    this.#add(-bytes);
  }

  /** Notifies once when there may be room again. */
  wait(notifier: Notifier): void {
    this.#budget.wait(this, notifier);
  }

  /** Calls `flush` when other lanes need the memory that this lane holds to gather more. */
  onPressure(flush: () => void): void {
    this.#budget.onPressure(this, flush);
  }

  /** Gives back all memory; events that settle later do not count any more. */
  close(): void {
    if (this.#isClosed) return;
    this.workspace.dispatched -= this.#dispatched;
    this.#dispatched = 0;
    this.#add(-this.#bytes);
    this.#isClosed = true;
    this.#budget.closeLane(this);
  }

  /** Bytes that may still be added; zero or less when there is no room. */
  get #freeBytes(): number {
    const { bytes } = this.workspace;
    const scale = this.#bytes < LANE_HELD_BYTES_MIN ? 2 : 1;
    const ofWorkspace = scale * WORKSPACE_HELD_BYTES_MAX - bytes;
    const ofAll = scale * LANES_HELD_BYTES_MAX - this.#budget.bytes;
    const ofMinimum = WORKSPACE_HELD_BYTES_MIN - bytes;
    const shared = Math.min(ofWorkspace, Math.max(ofAll, ofMinimum));
    return Math.min(this.#bounds.bytes - this.#bytes, shared);
  }

  #add(bytes: number): void {
    if (this.#isClosed) return;
    this.#bytes += bytes;
    this.workspace.bytes += bytes;
    assert(this.#bytes >= 0, "A lane holds no negative number of bytes");
    this.#budget.add(bytes);
  }
}
