import { describe, expect, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { Notifier } from "../../src/pipeline/clock.ts";
import { LANE_HELD_BYTES_MIN } from "../../src/pipeline/limits.ts";
import {
  LANE_UNCOMMITTED_EVENTS_MAX,
  type LaneBudget,
  MemoryBudget,
} from "../../src/pipeline/memory-budget.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import {
  GATHERED_BYTES_MAX,
  GATHERED_EVENTS_MAX,
  LANE_IN_FLIGHT_BYTES_MAX,
  LANE_IN_FLIGHT_EVENTS_MAX,
  LANES_HELD_BYTES_MAX,
  WORKSPACE_HELD_BYTES_MAX,
} from "../../src/settings/limits.ts";
import { laneEvent } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

const event = (bytes = 0) => laneEvent({ bytes });

/** Has a lane take an event of this size. */
function take(lane: LaneBudget, bytes: number): LaneEvent {
  const taken = event(bytes);
  lane.take([taken]);
  return taken;
}

describe("lane budget", () => {
  test("a lane's budget bounds unsettled events and uncommitted ones", () => {
    const lane = new MemoryBudget().openLane("w");
    const half = LANE_IN_FLIGHT_EVENTS_MAX / 2;
    const events = () => lane.room.events;
    const settle = (count: number) => {
      for (const _ of numbersTo(count)) lane.dispatchEmpty();
      lane.settle(count);
    };
    expect(events()).toBe(LANE_IN_FLIGHT_EVENTS_MAX);
    const first = numbersTo(half).map(() => take(lane, 0));
    expect(events()).toBe(half);
    expect(lane.oldest).toBe(first[0]);
    settle(half);
    expect(events()).toBe(LANE_IN_FLIGHT_EVENTS_MAX);
    for (const _ of numbersTo(LANE_UNCOMMITTED_EVENTS_MAX - half - 1)) take(lane, 0);
    settle(LANE_UNCOMMITTED_EVENTS_MAX - half - 1);
    expect(events()).toBe(1);
    expect(lane.isFull).toBe(false);
    take(lane, 0);
    expect(lane.isFull).toBe(true);
    lane.commit(first.slice(0, 3));
    // A second commit of the same events frees nothing.
    lane.commit(first.slice(0, 3));
    settle(1);
    expect(events()).toBe(3);
    expect(lane.uncommitted).toBe(LANE_UNCOMMITTED_EVENTS_MAX - 3);
    expect(lane.oldest).toBe(first[3]);
  });

  test("a lane's budget bounds bytes, and frees those of committed events", () => {
    const memory = new MemoryBudget();
    const lane = memory.openLane("w");
    const large = take(lane, LANE_IN_FLIGHT_BYTES_MAX - 1);
    expect(lane.room).toEqual({ events: LANE_IN_FLIGHT_EVENTS_MAX - 1, bytes: 1 });
    take(lane, 1);
    expect(lane.room).toEqual({ events: 0, bytes: 0 });
    expect(memory.bytes).toBe(LANE_IN_FLIGHT_BYTES_MAX);
    lane.commit([large]);
    expect(memory.bytes).toBe(1);
    expect(lane.room.bytes).toBe(LANE_IN_FLIGHT_BYTES_MAX - 1);
    lane.close();
    expect(memory.bytes).toBe(0);
  });

  test("an empty lane may take one event while other lanes of its workspace hold all memory", () => {
    const memory = new MemoryBudget();
    take(memory.openLane("w"), 4 * WORKSPACE_HELD_BYTES_MAX);
    const lane = memory.openLane("w");
    expect(lane.room).toEqual({ events: LANE_IN_FLIGHT_EVENTS_MAX, bytes: 1 });
    take(lane, 10);
    expect(lane.isFull).toBe(true);
  });

  test.each<[string, (lane: LaneBudget) => void]>([
    ["settles an event that was not taken", (lane) => lane.settle(1)],
    [
      "settles an event that was not dispatched",
      (lane) => {
        take(lane, 1);
        lane.settle(1);
      },
    ],
    [
      "frees more bytes than an event held",
      (lane) => {
        const taken = take(lane, 1);
        taken.bytes = 2;
        lane.commit([taken]);
      },
    ],
  ])("a lane's budget stops a lane that %s", (_, breakIt) => {
    expect(() => breakIt(new MemoryBudget().openLane("w"))).toThrow(InvariantError);
  });
});

test("outputs are dispatched where there is room, or where they are small and none is dispatched", () => {
  const memory = new MemoryBudget();
  const other = memory.openLane("w");
  const lane = memory.openLane("w");
  const [small, large] = [take(lane, 10), take(lane, 10)];
  take(other, 4 * WORKSPACE_HELD_BYTES_MAX);
  other.dispatchEmpty();
  expect(lane.dispatch(large, LANE_HELD_BYTES_MIN + 1)).toBe(false);
  expect(lane.canDispatch(large)).toBe(false);
  expect(lane.canDispatch(small)).toBe(true);
  expect(lane.dispatch(small, LANE_HELD_BYTES_MIN)).toBe(true);
  expect(small.bytes).toBe(LANE_HELD_BYTES_MIN);
  expect(large.bytes).toBe(10);
  // One event is dispatched now: a second one waits.
  expect(lane.canDispatch(event())).toBe(false);
  lane.settle(1);
  expect(lane.canDispatch(event())).toBe(true);
  other.settle(1);
  // The workspace has dispatched nothing: no memory would ever be given back.
  expect(lane.canDispatch(large)).toBe(true);
  expect(lane.dispatch(large, 5)).toBe(true);
  expect(large).toMatchObject({ bytes: 10, isLarge: false });
});

test("a lane that gathers large deliveries flushes when others of its workspace wait for memory", () => {
  const memory = new MemoryBudget();
  const gathering = memory.openLane("w", true);
  let flushes = 0;
  gathering.onPressure(() => flushes++);
  const [waiting, foreign] = [memory.openLane("w"), memory.openLane("v")];
  take(gathering, LANE_HELD_BYTES_MIN - 1);
  waiting.wait(new Notifier());
  expect(flushes).toBe(0);
  take(gathering, 1);
  foreign.wait(new Notifier());
  gathering.wait(new Notifier());
  expect(flushes).toBe(0);
  waiting.wait(new Notifier());
  expect(flushes).toBe(1);
  gathering.close();
  waiting.wait(new Notifier());
  expect(flushes).toBe(1);
});

test("a waiting lane is notified once when there is room again", () => {
  const memory = new MemoryBudget();
  const [full, lane] = [memory.openLane("w"), memory.openLane("w")];
  const small = take(full, 1);
  const large = take(full, 4 * WORKSPACE_HELD_BYTES_MAX);
  full.dispatchEmpty();
  let times = 0;
  const notifier = new Notifier();
  notifier.notify = () => {
    times += 1;
  };
  lane.wait(notifier);
  full.commit([small]);
  expect(times).toBe(0);
  full.settle(1);
  expect(times).toBe(1);
  full.commit([large]);
  expect(times).toBe(1);
});

test("a lane that gathers may hold two deliveries, and three until they are on disk", () => {
  const lane = new MemoryBudget().openLane("w", true);
  expect(lane.room.events).toBe(2 * GATHERED_EVENTS_MAX);
  const one = event();
  const events = numbersTo(2 * GATHERED_EVENTS_MAX).map(() => ({ ...one }));
  lane.take(events);
  expect(lane.isFull).toBe(true);
  for (const _ of events) lane.dispatchEmpty();
  lane.settle(events.length);
  expect(lane.room.events).toBe(GATHERED_EVENTS_MAX);
  lane.commit(events);
  const large = take(lane, 2 * GATHERED_BYTES_MAX - 1);
  expect(lane.room.bytes).toBe(1);
  lane.commit([large]);
  expect([lane.uncommitted, lane.bytes, lane.oldest]).toEqual([0, 0, undefined]);
});

test("a lane that holds little may use twice the memory of its workspace and of all lanes", () => {
  const roomBeside = (workspaceId: string, bytes: number, own: number) => {
    const memory = new MemoryBudget();
    take(memory.openLane(workspaceId), bytes);
    const lane = memory.openLane("w");
    take(lane, own);
    return lane.room.bytes;
  };
  const little = LANE_HELD_BYTES_MIN - 1;
  expect(roomBeside("w", 2 * WORKSPACE_HELD_BYTES_MAX - little - 5, little)).toBe(5);
  expect(roomBeside("w", WORKSPACE_HELD_BYTES_MAX - little - 6, little + 1)).toBe(5);
  const mib = 1 << 20;
  expect(roomBeside("v", 2 * LANES_HELD_BYTES_MAX - 5 * mib, 10)).toBe(5 * mib - 10);
  expect(roomBeside("v", LANES_HELD_BYTES_MAX - 5 * mib, little + 1)).toBe(5 * mib - little - 1);
});

test("a workspace may hold a minimum although others hold all memory, and no more", () => {
  const memory = new MemoryBudget();
  const other = memory.openLane("v");
  take(other, 3 * LANES_HELD_BYTES_MAX);
  const lane = memory.openLane("w");
  const minimum = 2 << 20;
  expect(lane.room.bytes).toBe(minimum);
  take(lane, minimum - 1);
  expect(lane.room).toEqual({ events: LANE_IN_FLIGHT_EVENTS_MAX - 1, bytes: 1 });
  take(lane, 1);
  expect(lane.isFull).toBe(true);
  // Nothing of the workspace is on its way, so that something must be.
  expect(lane.isOpen).toBe(true);
  lane.dispatchEmpty();
  expect(lane.isOpen).toBe(false);
});

test("all lanes that gather flush when another one waits while all memory is held", () => {
  const memory = new MemoryBudget();
  const [one, other, small] = [1, 2, 3].map((n) => memory.openLane(`w${n}`, true));
  const flushed: string[] = [];
  one!.onPressure(() => flushed.push("one"));
  other!.onPressure(() => flushed.push("other"));
  small!.onPressure(() => flushed.push("small"));
  take(one!, LANE_HELD_BYTES_MIN);
  take(other!, LANES_HELD_BYTES_MAX - LANE_HELD_BYTES_MIN - 1);
  const waiting = memory.openLane("w4");
  waiting.wait(new Notifier());
  expect(flushed).toEqual([]);
  take(small!, 1);
  waiting.wait(new Notifier());
  expect(flushed).toEqual(["one", "other"]);
});

test("a lane that is closed frees its memory once, and counts nothing afterwards", () => {
  const memory = new MemoryBudget();
  const [lane, other] = [memory.openLane("w"), memory.openLane("w")];
  const taken = take(lane, 100);
  take(other, 7);
  lane.dispatchEmpty();
  lane.wait(new Notifier());
  expect([memory.bytes, lane.workspace.dispatched]).toEqual([107, 1]);
  lane.close();
  lane.close();
  expect([memory.bytes, lane.workspace.dispatched, lane.workspace.lanes]).toEqual([7, 0, 1]);
  // Its attempts that still run end later.
  lane.dispatchEmpty();
  lane.settle(1);
  lane.commit([taken]);
  take(lane, 50);
  expect([memory.bytes, lane.workspace.bytes, lane.workspace.dispatched]).toEqual([7, 7, 0]);
  const { workspace } = other;
  other.close();
  expect([memory.bytes, workspace.bytes]).toEqual([0, 0]);
  // A lane of the workspace that comes later begins anew.
  expect(memory.openLane("w").workspace).not.toBe(workspace);
});

test("a closed lane is not notified, and one without room waits on", () => {
  const memory = new MemoryBudget();
  const [full, closed, waiting] = [1, 2, 3].map(() => memory.openLane("w"));
  const notified: string[] = [];
  const notifierOf = (name: string) => {
    const notifier = new Notifier();
    notifier.once(() => notified.push(name));
    return notifier;
  };
  const [half, rest] = [take(full!, 4 * WORKSPACE_HELD_BYTES_MAX), take(full!, 1)];
  full!.dispatchEmpty();
  closed!.wait(notifierOf("closed"));
  waiting!.wait(notifierOf("waiting"));
  closed!.close();
  full!.commit([rest]);
  expect(notified).toEqual([]);
  full!.commit([half]);
  expect(notified).toEqual(["waiting"]);
});
