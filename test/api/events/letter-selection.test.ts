import { expect, test } from "bun:test";
import { PreconditionFailed } from "../../../src/api/response/errors.ts";
import {
  allOf,
  expectCount,
  type LetterSelection,
  selected,
} from "../../../src/api/routes/events/letter-selection.ts";
import type { DeadLetters } from "../../../src/pipeline/dead-letters/dead-letters.ts";
import { firstIdAt } from "../../../src/pipeline/ledger/letter-keys.ts";

const time = (ms: number) => new Date(ms).toISOString();
const idAt = (ms: number) => `${firstIdAt(ms)}-a`;

/** Dead letters that were given up at these times. One read scans at most two of them. */
function lettersAt(times: readonly number[]) {
  const scans: object[] = [];
  const letters = {
    ids(_: string, filter: object, part: { after: string; before: string; count: number }) {
      scans.push(filter);
      const rest = times.map(idAt).filter((id) => id > part.after && id < part.before);
      const seen = rest.slice(0, Math.min(2, part.count));
      return { ids: seen, seen: seen.length, reached: rest.length > 2 ? seen.at(-1) : undefined };
    },
    count: () => 77,
  } as unknown as DeadLetters;
  return { letters, scans };
}

const { letters } = lettersAt([1, 2, 3, 4, 5]);
const select = (selection: LetterSelection) => selected(letters, "w", selection);

test("dead letters are selected by their ids as they were sent", async () => {
  expect(await select({ ids: ["b", "a"] })).toEqual({ ids: ["b", "a"] });
});

test.each([
  [{}, "got neither"],
  [{ ids: ["a"], filter: {} }, "got both"],
] as [LetterSelection, string][])(
  "a selection %j of dead letters is refused",
  async (selection, message) => {
    await expect(select(selection)).rejects.toThrow(`Expected either ids or a filter, ${message}`);
  },
);

test.each([
  [5, undefined, [1, 2, 3, 4, 5], false],
  [4, undefined, [1, 2, 3, 4], true],
  [1, undefined, [1], true],
  [9, 4, [1, 2, 3], false],
  [3, 4, [1, 2, 3], false],
  [2, 4, [1, 2], true],
])("at most %d of the oldest are selected from before %j", async (count, before, times, more) => {
  const limit = before === undefined ? {} : { before: time(before) };
  const found = await select({ filter: {}, count, ...limit });
  expect([found.ids, found.more]).toEqual([times.map(idAt), more]);
  expect(found.before).toEqual(before === undefined ? expect.any(String) : time(before));
});

test("a selection of all dead letters has a filter, and its rate and its end if they are sent", () => {
  expect(allOf({ filter: {} })).toBeUndefined();
  expect(allOf({ filter: {}, all: false })).toBeUndefined();
  const from = time(1);
  expect(allOf({ filter: { reason: "a", from }, all: true })).toEqual({
    filter: { reason: "a", from: 1 },
  });
  const sent = { filter: { to: time(2) }, all: true, rate: 5, before: time(3) };
  expect(allOf(sent)).toEqual({ filter: { to: 2 }, rate: 5, before: 3 });
  expect(() => allOf({ all: true })).toThrow("Expected a filter beside all");
  expect(() => allOf({ all: true, filter: {}, ids: ["a"] })).toThrow("and no ids");
});

test("a change of more dead letters than the client expects is refused with their number", async () => {
  const check = (selection: LetterSelection) => expectCount(letters, "w", selection);
  await check({ filter: {} });
  await check({ filter: {}, expected: 5 });
  await check({ filter: {}, expected: 3, before: time(4) });
  await expect(check({ expected: 1 })).rejects.toThrow("Expected a filter beside expected");
  const refusal = async (selection: LetterSelection) => {
    const error = await check(selection).catch((error: unknown) => error);
    return error instanceof PreconditionFailed && error.states.current;
  };
  // The number of letters that a filter of stored counts finds is known without a search.
  expect(await refusal({ filter: {}, expected: 4 })).toEqual({ count: 77 });
  expect(await refusal({ filter: { destinationId: "d" }, expected: 4 })).toEqual({ count: 77 });
  const others = [{ reason: "a" }, { transformationVersionId: "v" }, { from: time(0) }];
  for (const filter of [...others, { to: time(9) }]) {
    expect(await refusal({ filter, expected: 4 })).toEqual({ count: 5 });
  }
});

test("dead letters are searched no further than to one more than the client expects", async () => {
  const { letters, scans } = lettersAt([1, 2, 3, 4, 5, 6, 7, 8]);
  await expectCount(letters, "w", { filter: { reason: "a" }, expected: 1 }).catch(() => {});
  expect(scans).toEqual([{ reason: "a" }]);
});
