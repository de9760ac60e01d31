import { expect, test } from "bun:test";
import { SharedResults } from "../../src/concurrency/shared-results.ts";

const never = new AbortController().signal;

/** Computations that a test ends. */
function computations() {
  const begun: { end(value: number): void; fail(): void; signal: AbortSignal }[] = [];
  const compute = (signal: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    signal.addEventListener("abort", () => reject(signal.reason));
    begun.push({ end: resolve, fail: () => reject(new Error("No disk")), signal });
    return promise;
  };
  return { begun, compute };
}

test("callers of one key and version share a computation, also after it has ended", async () => {
  const results = new SharedResults(60_000);
  const { begun, compute } = computations();
  const get = (key: string, version = "1") => results.get({ key, version }, compute, never);
  const first = get("a");
  const second = get("a");
  const other = get("b");
  expect(begun).toHaveLength(2);
  begun[0]!.end(7);
  begun[1]!.end(8);
  expect(await Promise.all([first, second, other, get("a")])).toEqual([7, 7, 8, 7]);
  const newer = get("a", "2");
  expect(begun).toHaveLength(3);
  begun[2]!.end(9);
  expect([await newer, await get("a", "2")]).toEqual([9, 9]);
});

test("a shared computation continues when one caller leaves, and ends when the last one leaves", async () => {
  const results = new SharedResults(60_000);
  const { begun, compute } = computations();
  const leaving = [new AbortController(), new AbortController()] as const;
  const get = (signal: AbortSignal) => results.get({ key: "a", version: "1" }, compute, signal);
  const [first, second] = leaving.map(({ signal }) => get(signal));
  leaving[0].abort(new Error("Gone"));
  await expect(first).rejects.toThrow("Gone");
  expect(begun[0]!.signal.aborted).toBe(false);
  leaving[1].abort(new Error("Gone too"));
  await expect(second).rejects.toThrow("Gone too");
  expect(begun[0]!.signal.aborted).toBe(true);
  const third = get(never);
  begun[1]!.end(3);
  expect(await third).toBe(3);
});

test("a result is computed again when it is too old, or failed, and not while it is computed", async () => {
  const results = new SharedResults(1);
  const { begun, compute } = computations();
  const get = () => results.get({ key: "a", version: "1" }, compute, never);
  const slow = get();
  await Bun.sleep(20);
  const late = get();
  expect(begun).toHaveLength(1);
  begun[0]!.end(1);
  expect(await Promise.all([slow, late])).toEqual([1, 1]);
  await Bun.sleep(20);
  const failed = get();
  expect(begun).toHaveLength(2);
  begun[1]!.fail();
  await expect(failed).rejects.toThrow("No disk");
  const again = get();
  expect(begun).toHaveLength(3);
  begun[2]!.end(4);
  expect(await again).toBe(4);
});

test("a caller that has left before begins no computation", async () => {
  const results = new SharedResults(60_000);
  const { begun, compute } = computations();
  const left = AbortSignal.abort(new Error("Gone before"));
  const get = results.get({ key: "a", version: "1" }, compute, left);
  await expect(get).rejects.toThrow("Gone before");
  expect(begun).toHaveLength(0);
});

test("a computation that fails late leaves the newer one of its key shared", async () => {
  const results = new SharedResults(60_000);
  const { begun, compute } = computations();
  const get = (version: string) => results.get({ key: "a", version }, compute, never);
  const older = get("1");
  const newer = get("2");
  begun[0]!.fail();
  await expect(older).rejects.toThrow("No disk");
  await Bun.sleep(0);
  const shared = get("2");
  expect(begun).toHaveLength(2);
  begun[1]!.end(2);
  expect(await Promise.all([newer, shared])).toEqual([2, 2]);
});
