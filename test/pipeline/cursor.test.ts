import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Cursor } from "../../src/pipeline/reading/cursor.ts";

/** Reads `count` records on for one connection; returns those that were taken. */
function readOn(cursor: Cursor, count: number, connectionId = "a"): number[] {
  const taken: number[] = [];
  const end = cursor.position + count;
  for (let sequence = cursor.position; sequence < end; sequence++) {
    if (!cursor.wants(sequence, connectionId)) continue;
    cursor.take(sequence);
    taken.push(sequence);
  }
  cursor.advanceTo(end);
  return taken;
}

describe("cursor", () => {
  test("a restarted cursor takes pending records, then new ones", () => {
    const cursor = new Cursor({ next: 10, pending: [3, 7] });
    expect(cursor.position).toBe(3);
    expect(readOn(cursor, 9)).toEqual([3, 7, 10, 11]);
    expect(cursor.record()).toEqual({ next: 12, pending: [3, 7, 10, 11] });
    expect(cursor.low).toBe(3);
    for (const sequence of [3, 10, 11, 7]) cursor.settle(sequence);
    expect(cursor.record()).toEqual({ next: 12, pending: [] });
    expect(cursor.low).toBe(12);
  });

  test("a cursor forgets pending records that the log no longer has", () => {
    const cursor = new Cursor({ next: 10, pending: [3] });
    cursor.advanceTo(20);
    expect(cursor.record()).toEqual({ next: 20, pending: [] });
  });

  test("a cursor goes back for a late connection, and for that one only", () => {
    const cursor = new Cursor({ next: 0, pending: [] });
    readOn(cursor, 10);
    for (let sequence = 0; sequence < 9; sequence++) cursor.settle(sequence);
    cursor.backfill("b", 4);
    expect(cursor.position).toBe(4);
    expect(cursor.isBackfilling("b")).toBe(true);
    expect(cursor.low).toBe(4);
    expect(cursor.durableLow).toBe(0);
    expect(cursor.wants(5, "a")).toBe(false);
    expect(readOn(cursor, 3, "b")).toEqual([4, 5, 6]);
    // Another one comes: the first is not taken twice.
    cursor.backfill("c", 2);
    expect(cursor.wants(5, "b")).toBe(false);
    expect(cursor.wants(7, "b")).toBe(true);
    expect(readOn(cursor, 10, "c")).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(cursor.isBackfilling("b")).toBe(false);
    expect(cursor.record().next).toBe(12);
  });

  test("a record that was taken for two connections stays pending until both events settle", () => {
    const cursor = new Cursor({ next: 0, pending: [] });
    readOn(cursor, 3, "before");
    cursor.backfill("after", 1);
    expect(readOn(cursor, 2, "after")).toEqual([1, 2]);
    for (const sequence of [0, 1, 2]) cursor.settle(sequence);
    expect(cursor.record()).toEqual({ next: 3, pending: [1, 2] });
    expect(cursor.low).toBe(1);
    for (const sequence of [1, 2]) cursor.settle(sequence);
    expect(cursor.record()).toEqual({ next: 3, pending: [] });
    expect(() => cursor.settle(2)).toThrow("settles once");
  });

  test("a late connection that starts again loses no record between its starts", () => {
    const cursor = new Cursor({ next: 0, pending: [] });
    readOn(cursor, 10);
    cursor.backfill("b", 2);
    expect(readOn(cursor, 3, "b")).toEqual([2, 3, 4]);
    cursor.backfill("b", 8);
    expect(readOn(cursor, 5, "b")).toEqual([5, 6, 7, 8, 9]);
  });

  test("a backfill that begins during a commit keeps its records from trimming", () => {
    const cursor = new Cursor({ next: 0, pending: [] });
    readOn(cursor, 10);
    for (let sequence = 0; sequence < 10; sequence++) cursor.settle(sequence);
    const { low } = cursor;
    cursor.backfill("b", 4);
    cursor.committed(low);
    expect(cursor.durableLow).toBe(4);
  });

  test("a backfill keeps its records from trimming although the cursor had passed them", () => {
    const cursor = new Cursor({ next: 0, pending: [] });
    readOn(cursor, 10);
    for (let sequence = 0; sequence < 10; sequence++) cursor.settle(sequence);
    cursor.committed(cursor.low);
    expect(cursor.durableLow).toBe(10);
    cursor.backfill("b", 4);
    expect(cursor.durableLow).toBe(4);
  });

  test("a connection that starts at the cursor needs no backfill", () => {
    const cursor = new Cursor({ next: 5, pending: [] });
    cursor.backfill("b", 5);
    expect(cursor.isBackfilling("b")).toBe(false);
    expect(cursor.position).toBe(5);
  });

  test("each record settles once, in any order and over any restarts", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("read" as const), count: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ kind: fc.constant("settle" as const), pick: fc.nat() }),
      fc.record({ kind: fc.constant("restart" as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        let cursor = new Cursor({ next: 0, pending: [] });
        const settled: number[] = [];
        let open: number[] = [];
        for (const action of steps) {
          if (action.kind === "read") open.push(...readOn(cursor, action.count));
          else if (action.kind === "restart") {
            cursor = new Cursor(cursor.record());
            open = [];
          } else if (open.length > 0) {
            const [sequence] = open.splice(action.pick % open.length, 1);
            cursor.settle(sequence!);
            settled.push(sequence!);
          }
        }
        const { next, pending } = cursor.record();
        const all = [...settled, ...pending].sort((a, b) => a - b);
        expect(all).toEqual(Array.from({ length: next }, (_, sequence) => sequence));
        expect(cursor.low).toBe(pending[0] ?? next);
      }),
      { numRuns: 1_000 },
    );
  });
});
