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
import { EventList } from "./model/event-list.ts";
import type { LaneEvent } from "./model/lane-event.ts";

/** Bytes that the deliveries of a workspace may hold even when other workspaces use all memory. */
const WORKSPACE_HELD_BYTES_MIN = 2 << 20;

/**
 * Largest number of events that a lane (the delivery to one destination) may have read before their
 * outcomes are on disk, unless it gathers large deliveries. A crash repeats no more than these.
 */
export const LANE_UNCOMMITTED_EVENTS_MAX = 8_192;

/** Limits for a lane (the delivery to one destination) that does not gather large deliveries. */
const plainBounds = {
  /** Largest number of events that were read and have no final outcome yet. */
  unsettledEvents: LANE_IN_FLIGHT_EVENTS_MAX,
  /** Limit on the number of events that were read and whose outcome is not on disk yet. */
  uncommittedEvents: LANE_UNCOMMITTED_EVENTS_MAX,
  bytes: LANE_IN_FLIGHT_BYTES_MAX,
};
type LaneBounds = typeof plainBounds;

/**
 * Limits for a lane (the delivery to one destination) that gathers events into large deliveries.
 * They are higher than those of other lanes, so that it can gather the next delivery while one is
 * sent.
 */
const gatheringBounds: LaneBounds = {
  unsettledEvents: GATHERED_EVENTS_MAX * 2,
  uncommittedEvents: GATHERED_EVENTS_MAX * 3,
  bytes: GATHERED_BYTES_MAX * 2,
};

/** Memory that all deliveries of one workspace hold together. */
interface WorkspaceUse {
  id: string;
  bytes: number;
  /** Number of events that were passed to delivery and have no final outcome yet. */
  dispatched: number;
  lanes: number;
}

/**
 * Limits the bytes that lanes (each delivers one destination's events) hold for read events and
 * outputs of user code: per lane, per workspace and in total. No workspace can stop another:
 * - each workspace may hold a minimum, whatever the others hold;
 * - for a lane that holds little, the limits of its workspace and of all lanes are doubled;
 * - a lane with no event in delivery may send one event of ordinary size.
 */
export class MemoryBudget {
  bytes = 0;
  readonly #workspaces = new Map<string, WorkspaceUse>();
  readonly #waiting = new Map<LaneBudget, Notifier>();
  readonly #flushes = new Map<LaneBudget, () => void>();

  /**
   * Creates the budget of a new lane (the delivery to one destination). `gathers` is true if the
   * lane gathers events into large deliveries.
   */
  openLane(workspaceId: string, gathers = false): LaneBudget {
    const empty = { id: workspaceId, bytes: 0, dispatched: 0, lanes: 0 };
    const workspace = this.#workspaces.getOrInsert(workspaceId, empty);
    workspace.lanes += 1;
    return new LaneBudget(this, workspace, gathers ? gatheringBounds : plainBounds);
  }

  /**
   * Adds bytes to the memory that all lanes hold. A negative number frees memory, and wakes lanes
   * that wait for it. Called only by `LaneBudget`.
   */
  add(bytes: number): void {
    this.bytes += bytes;
    assert(this.bytes >= 0, "The lanes hold no negative number of bytes");
    if (bytes <= 0) this.notifyWaiting();
  }

  /** Wakes each waiting lane that is allowed to process events. Called only by `LaneBudget`. */
  notifyWaiting(): void {
    for (const [lane, notifier] of this.#waiting) {
      if (!lane.isOpen) continue;
      this.#waiting.delete(lane);
      notifier.notify();
    }
  }

  /**
   * Notifies `notifier` as soon as the lane `waiting` may process events again. Makes other lanes
   * that hold much memory deliver what they have gathered: all if the total limit is reached,
   * otherwise those of the same workspace. Called only by `LaneBudget`.
   */
  wait(waiting: LaneBudget, notifier: Notifier): void {
    this.#waiting.set(waiting, notifier);
    const isFull = this.bytes >= LANES_HELD_BYTES_MAX;
    for (const [lane, flush] of this.#flushes) {
      if (lane === waiting || lane.bytes < LANE_HELD_BYTES_MIN) continue;
      if (isFull || lane.workspace === waiting.workspace) flush();
    }
  }

  /**
   * Registers `flush`, which makes `lane` deliver what it has gathered. The budget calls it when
   * other lanes need memory. Called only by `LaneBudget`.
   */
  onPressure(lane: LaneBudget, flush: () => void): void {
    this.#flushes.set(lane, flush);
  }

  /** Removes a lane that has freed all its memory. Called only by `LaneBudget`. */
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
 * The memory of one lane (the delivery to one destination): the events that were read and whose
 * outcomes are not on disk yet. Their number is limited, because a crash repeats them. Events
 * without a final outcome have a lower limit.
 */
export class LaneBudget {
  /** Events whose outcome is not on disk yet, in the order in which they were read. */
  readonly #events = new EventList();
  #unsettled = 0;
  #dispatched = 0;
  bytes = 0;
  #isClosed = false;

  constructor(
    private readonly budget: MemoryBudget,
    readonly workspace: WorkspaceUse,
    private readonly bounds: LaneBounds,
  ) {}

  /** Number of events whose outcome is not on disk yet. */
  get uncommitted(): number {
    return this.#events.size;
  }

  get oldest(): LaneEvent | undefined {
    return this.#events.first;
  }

  /**
   * Number of events and bytes that the lane may still read. `events` is 0 or negative when a limit
   * is reached.
   */
  get room(): { events: number; bytes: number } {
    // A lane that holds nothing may take one event, whatever the other lanes hold.
    const bytes = Math.max(this.#freeBytes, this.#events.size === 0 ? 1 : 0);
    const { unsettledEvents, uncommittedEvents } = this.bounds;
    const unsettled = unsettledEvents - this.#unsettled;
    const uncommitted = uncommittedEvents - this.#events.size;
    return { events: bytes > 0 ? Math.min(unsettled, uncommitted) : 0, bytes };
  }

  get isFull(): boolean {
    return this.room.events <= 0;
  }

  /**
   * Whether the lane may pass an event of any size to delivery at present. True if the lane has
   * free memory, or if its workspace has no event in delivery whose outcome could free memory.
   */
  get isOpen(): boolean {
    // While the workspace has dispatched nothing, no event settles that could free memory.
    return this.#freeBytes > 0 || this.workspace.dispatched === 0;
  }

  /**
   * Whether `event` may be passed to delivery at present. While `isOpen` is false, this is so only
   * if the lane has no event in delivery, and `event` is not known to have large outputs.
   */
  canDispatch(event: LaneEvent): boolean {
    return this.isOpen || (!event.isLarge && this.#dispatched === 0);
  }

  /** Adds newly read events to those that the lane holds, and their bytes to its memory. */
  take(events: readonly LaneEvent[]): void {
    if (events.length === 0) return;
    for (const event of events) this.#events.add(event);
    this.#unsettled += events.length;
    this.#add(events.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  /** Reserves memory for the event's outputs. Returns false when there is not enough. */
  dispatch(event: LaneEvent, outputBytes: number): boolean {
    event.isLarge = outputBytes > LANE_HELD_BYTES_MIN;
    if (!this.canDispatch(event)) return false;
    this.dispatchEmpty();
    const added = Math.max(0, outputBytes - event.bytes);
    event.bytes += added;
    this.#add(added);
    return true;
  }

  /** Counts an event as passed to delivery, but reserves no memory for its outputs. */
  dispatchEmpty(): void {
    if (this.#isClosed) return;
    this.#dispatched += 1;
    this.workspace.dispatched += 1;
  }

  /** Counts `events` events as settled: all of their outputs have a final outcome. */
  settle(events: number): void {
    this.#unsettled -= events;
    assert(this.#unsettled >= 0, "A lane settles no more events than it took");
    if (this.#isClosed) return;
    this.#dispatched -= events;
    this.workspace.dispatched -= events;
    assert(this.#dispatched >= 0, "A lane settles no more events than it dispatched");
    if (this.workspace.dispatched === 0) this.budget.notifyWaiting();
  }

  /** Frees the memory of events whose outcomes are on disk. */
  commit(events: readonly LaneEvent[]): void {
    let bytes = 0;
    for (const event of events) if (this.#events.remove(event)) bytes += event.bytes;
    this.#add(-bytes);
  }

  /** Notifies `notifier` once, when this lane may process events again. */
  wait(notifier: Notifier): void {
    this.budget.wait(this, notifier);
  }

  /**
   * Registers `flush`, which makes this lane deliver what it has gathered. The budget calls it when
   * other lanes need memory.
   */
  onPressure(flush: () => void): void {
    this.budget.onPressure(this, flush);
  }

  /** Frees all memory of this lane. Later calls do not change the totals of all lanes. */
  close(): void {
    if (this.#isClosed) return;
    this.workspace.dispatched -= this.#dispatched;
    this.#dispatched = 0;
    this.#add(-this.bytes);
    this.#isClosed = true;
    this.budget.closeLane(this);
  }

  /** Number of bytes that this lane may still hold; 0 or negative when a limit is reached. */
  get #freeBytes(): number {
    const { bytes } = this.workspace;
    const scale = this.bytes < LANE_HELD_BYTES_MIN ? 2 : 1;
    const ofWorkspace = scale * WORKSPACE_HELD_BYTES_MAX - bytes;
    const ofAll = scale * LANES_HELD_BYTES_MAX - this.budget.bytes;
    const ofMinimum = WORKSPACE_HELD_BYTES_MIN - bytes;
    const shared = Math.min(ofWorkspace, Math.max(ofAll, ofMinimum));
    return Math.min(this.bounds.bytes - this.bytes, shared);
  }

  #add(bytes: number): void {
    if (this.#isClosed) return;
    this.bytes += bytes;
    this.workspace.bytes += bytes;
    assert(this.bytes >= 0, "A lane holds no negative number of bytes");
    this.budget.add(bytes);
  }
}
