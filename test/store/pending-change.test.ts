import { expect, test } from "bun:test";
import { ApiError } from "../../src/errors.ts";
import type { OrderedView, ViewPosition } from "../../src/store/ordered/ordered-view.ts";
import {
  dryRunChanges,
  type PendingChange,
  pendingChange,
  refuseLate,
  resolveChanges,
} from "../../src/store/ordered/pending-change.ts";
import type { LocalStore } from "../../src/store/store.ts";

const pending = (msMax: number, allowStale = false) =>
  pendingChange(() => 1, { allowStale, msMax, name: "The catalog" });

/** A call of `change` that is given up at `until`, and the message of its rejection. */
function callUntil(until: number) {
  const messages: string[] = [];
  const change: PendingChange = {
    apply: () => 1,
    allowStale: false,
    msMax: 20_000,
    until,
    resolve() {},
    reject: (error) => void messages.push((error as ApiError).message),
  };
  return { change, messages };
}

test("a call that waits for too long is given up, and may still take effect", async () => {
  const { change, promise } = pending(10, true);
  expect(change).toMatchObject({ allowStale: true, msMax: 10 });
  expect(change.apply()).toBe(1);
  await expect(promise).rejects.toThrow(
    new ApiError(
      "unavailable",
      "The catalog did not confirm a change within 0.01 s; it may still take effect",
    ),
  );
});

test("calls have the outcomes of the run that was committed, in their order", async () => {
  const calls = [pending(60_000), pending(60_000)];
  const reason = new ApiError("conflict", "Taken");
  resolveChanges(
    calls.map(({ change }) => change),
    [
      { status: "rejected", reason },
      { status: "fulfilled", value: 7 },
    ],
  );
  await expect(calls[0]!.promise).rejects.toBe(reason);
  expect(await calls[1]!.promise).toBe(7);
});

test("a call whose time has passed is refused with what its attempts took", () => {
  const because = "because brokers or this node are slow, and another node's change came first";
  for (const [attempts, took] of [
    [1, "the attempt took 20 s"],
    [2, "each of 2 attempts took 10 s"],
    [3, "each of 3 attempts took 7 s"],
  ] as const) {
    const [late, inTime] = [callUntil(performance.now()), callUntil(Number.POSITIVE_INFINITY)];
    const left = refuseLate([late.change, inTime.change], "The catalog", attempts);
    expect(left).toEqual([inTime.change]);
    expect(inTime.messages).toEqual([]);
    expect(late.messages).toEqual([`The catalog was not changed: ${took}, ${because}`]);
  }
});

test("calls run on the version of the view, which is unknown while the view lacks rows", async () => {
  const writes = [{ table: "a", key: "b" }];
  const dryRun: LocalStore["dryRun"] = async (applies) => ({
    outcomes: applies.map((apply) => ({ status: "fulfilled", value: apply() })),
    writes,
  });
  const run = (position: Partial<ViewPosition>) => {
    const view = { position: () => position } as OrderedView;
    return dryRunChanges({ dryRun } as LocalStore, view, [
      callUntil(Number.POSITIVE_INFINITY).change,
    ]);
  };
  const outcomes = [{ status: "fulfilled", value: 1 }];
  expect(await run({ version: 7 })).toEqual({ outcomes, writes, base: 7 } as never);
  expect(await run({ version: 7, lacks: "id" })).toEqual({ outcomes, writes } as never);
});
