import { describe, expect, test } from "bun:test";
import { Notifier } from "../../src/pipeline/clock.ts";
import { Holdings } from "../../src/pipeline/holdings.ts";
import { InFlight, LANE_UNCOMMITTED_EVENTS_MAX } from "../../src/pipeline/in-flight.ts";
import { LANE_HELD_BYTES_MIN } from "../../src/pipeline/limits.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import {
  LANE_IN_FLIGHT_BYTES_MAX,
  LANE_IN_FLIGHT_EVENTS_MAX,
  WORKSPACE_HELD_BYTES_MAX,
} from "../../src/settings/limits.ts";
import { numbersTo } from "./rig.ts";

const item = (bytes = 0): LaneEvent => ({ bytes, open: 0, letters: [], bornAt: 0 }) as never;

describe("a lane takes", () => {
  test("so many events that have not settled, and so many whose settling is not on disk", () => {
    const inFlight = new InFlight(new Holdings().share("w"));
    const half = LANE_IN_FLIGHT_EVENTS_MAX / 2;
    const take = (count: number) => numbersTo(count).map(() => item());
    const events = () => inFlight.room.events;
    expect(events()).toBe(LANE_IN_FLIGHT_EVENTS_MAX);
    const first = take(half);
    for (const one of first) inFlight.take(one);
    expect(events()).toBe(half);
    expect(inFlight.oldest).toBe(first[0]);
    inFlight.settle(half);
    expect(events()).toBe(LANE_IN_FLIGHT_EVENTS_MAX);
    for (const one of take(LANE_UNCOMMITTED_EVENTS_MAX - half - 1)) inFlight.take(one);
    inFlight.settle(LANE_UNCOMMITTED_EVENTS_MAX - half - 1);
    expect(events()).toBe(1);
    expect(inFlight.isFull).toBe(false);
    inFlight.take(item());
    expect(inFlight.isFull).toBe(true);
    inFlight.commit(first.slice(0, 3));
    // What is on disk already counts once.
    inFlight.commit(first.slice(0, 3));
    inFlight.settle(1);
    expect(events()).toBe(3);
    expect(inFlight.size).toBe(LANE_UNCOMMITTED_EVENTS_MAX - 3);
    expect(inFlight.oldest).toBe(first[3]);
  });

  test("so many bytes, and gives them back with what is on disk", () => {
    const holdings = new Holdings();
    const inFlight = new InFlight(holdings.share("w"));
    const large = item(LANE_IN_FLIGHT_BYTES_MAX - 1);
    inFlight.take(large);
    expect(inFlight.room).toEqual({ events: LANE_IN_FLIGHT_EVENTS_MAX - 1, bytes: 1 });
    const last = item(1);
    inFlight.take(last);
    expect(inFlight.room).toEqual({ events: 0, bytes: 0 });
    expect(holdings.bytes).toBe(LANE_IN_FLIGHT_BYTES_MAX);
    inFlight.commit([large]);
    expect(holdings.bytes).toBe(1);
    expect(inFlight.room.bytes).toBe(LANE_IN_FLIGHT_BYTES_MAX - 1);
    inFlight.close();
    expect(holdings.bytes).toBe(0);
  });

  test("one event where others of its workspace hold all", () => {
    const holdings = new Holdings();
    holdings.share("w").add(4 * WORKSPACE_HELD_BYTES_MAX);
    const inFlight = new InFlight(holdings.share("w"));
    expect(inFlight.room).toEqual({ events: LANE_IN_FLIGHT_EVENTS_MAX, bytes: 1 });
    inFlight.take(item(10));
    expect(inFlight.isFull).toBe(true);
  });
});

test("what an event became goes on where there is room, or where it is small and nothing is out", () => {
  const holdings = new Holdings();
  const other = holdings.share("w");
  const inFlight = new InFlight(holdings.share("w"));
  const [small, large] = [item(10), item(10)];
  for (const one of [small, large]) inFlight.take(one);
  other.add(4 * WORKSPACE_HELD_BYTES_MAX);
  other.begin();
  expect(inFlight.emit(large, LANE_HELD_BYTES_MIN + 1)).toBe(false);
  expect(inFlight.mayEmit(large)).toBe(false);
  expect(inFlight.mayEmit(small)).toBe(true);
  expect(inFlight.emit(small, LANE_HELD_BYTES_MIN)).toBe(true);
  expect(small.bytes).toBe(LANE_HELD_BYTES_MIN);
  expect(large.bytes).toBe(10);
  // One is out now: a second one waits.
  expect(inFlight.mayEmit(item())).toBe(false);
  inFlight.settle(1);
  expect(inFlight.mayEmit(item())).toBe(true);
  other.end(1);
  // Nothing of the workspace is out: nothing would ever be given back.
  expect(inFlight.mayEmit(large)).toBe(true);
  expect(inFlight.emit(large, 5)).toBe(true);
  expect(large).toMatchObject({ bytes: 10, isLarge: false });
});

test("who gathers gives back what others of the workspace wait for, where it holds much", () => {
  const holdings = new Holdings();
  const gathering = holdings.share("w");
  let presses = 0;
  gathering.gathers(() => presses++);
  const [waiting, foreign] = [holdings.share("w"), holdings.share("v")];
  gathering.add(LANE_HELD_BYTES_MIN - 1);
  waiting.wait(new Notifier());
  expect(presses).toBe(0);
  gathering.add(1);
  foreign.wait(new Notifier());
  gathering.wait(new Notifier());
  expect(presses).toBe(0);
  waiting.wait(new Notifier());
  expect(presses).toBe(1);
  gathering.close();
  waiting.wait(new Notifier());
  expect(presses).toBe(1);
});

test("lanes that wait go on when there is room again, each once", () => {
  const holdings = new Holdings();
  const [full, lane] = [holdings.share("w"), holdings.share("w")];
  full.add(4 * WORKSPACE_HELD_BYTES_MAX);
  full.begin();
  let times = 0;
  const notifier = new Notifier();
  notifier.notify = () => {
    times += 1;
  };
  lane.wait(notifier);
  full.add(-1);
  expect(times).toBe(0);
  full.end(1);
  expect(times).toBe(1);
  full.add(-full.bytes);
  expect(times).toBe(1);
});
