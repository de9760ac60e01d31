import { expect, test } from "bun:test";
import { SegmentIndex } from "../../src/log/segment/segment-index.ts";

const STRIDE_BYTES = 64 << 10;

/** An index of a segment from record 100 on whose blocks have these lengths and a record each. */
function indexOf(lengths: number[]) {
  const index = new SegmentIndex(100);
  const places = [{ sequence: 100, offset: 0 }];
  for (const length of lengths) {
    const { sequence, offset } = places.at(-1)!;
    places.push({ sequence: sequence + 1, offset: offset + length });
    index.add(places.at(-1)!);
  }
  return { index, places };
}

test("the index finds an entry at most a stride before the block", () => {
  for (const length of [1_000, 10_000, STRIDE_BYTES - 1, STRIDE_BYTES, 300_000]) {
    const { index, places } = indexOf(Array(50).fill(length));
    // One place in every stride is remembered, and the last of all.
    const step = Math.ceil(STRIDE_BYTES / length);
    for (const [n, { sequence }] of places.entries()) {
      const known = n === places.length - 1 ? n : n - (n % step);
      expect(index.floor(sequence)).toEqual(places[known]!);
    }
    expect(index.floor(1_000)).toEqual(places.at(-1)!);
    expect(index.floor(0)).toEqual(places[0]!);
  }
});

test("an entry that is added again changes nothing", () => {
  const { index, places } = indexOf(Array(10).fill(STRIDE_BYTES));
  for (const place of places) index.add({ ...place });
  for (const place of places) expect(index.floor(place.sequence)).toEqual(place);
});

test("an index refuses a block whose records come before those of an earlier block", () => {
  const { index } = indexOf([10, 10]);
  expect(() => index.add({ sequence: 101, offset: 1_000 })).toThrow("Sequence numbers ascend");
});
