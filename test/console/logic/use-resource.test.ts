import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { RequestRefused } from "../../../src/api/client.ts";
import { renderHook, settled, startPage } from "./page.ts";

const page = startPage();
const { useResource } = await import("../../../src/console/data/use-resource.ts");
const { usePages } = await import("../../../src/console/data/use-pages.ts");
const { asksToWait, retryDelayMs, useRetry } = await import("../../../src/console/data/retry.ts");

const refused = (status: number, retryAfter?: number) =>
  new RequestRefused(status, "no", [], retryAfter);
/** Results of the next loads; the number of the load when there is none. */
let results: (Error | Promise<number>)[] = [];
let loads = 0;
const load = async () => {
  loads++;
  const next = results.shift();
  if (next instanceof Error) throw next;
  return next ?? loads;
};

beforeEach(() => {
  jest.useFakeTimers();
  results = [];
  loads = 0;
  page.document.hidden = false;
});
afterEach(() => {
  jest.useRealTimers();
});
async function after(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  await settled();
}

describe("the pause after a failed load", () => {
  test("is 3 seconds, or what the server asks for, at most a minute", () => {
    expect(retryDelayMs(new TypeError())).toBe(3_000);
    expect(retryDelayMs(Object.assign(new TypeError(), { retryAfter: 9 }))).toBe(3_000);
    expect(retryDelayMs(refused(503))).toBe(3_000);
    expect(retryDelayMs(refused(503, 1))).toBe(3_000);
    expect(retryDelayMs(refused(429, 7))).toBe(7_000);
    expect(retryDelayMs(refused(429, 600))).toBe(60_000);
  });

  test("is longer only for a failure that may pass", () => {
    expect(asksToWait(refused(429, 7))).toBe(true);
    expect(asksToWait(refused(500, 7))).toBe(true);
    expect(asksToWait(refused(429, 3))).toBe(false);
    expect(asksToWait(refused(404, 7))).toBe(false);
    expect(asksToWait(refused(499, 7))).toBe(false);
  });
});

test("a load is repeated as it was rendered last, and only after a failure that may pass", async () => {
  const loaded: string[] = [];
  const retry = (error: unknown, name: string) => () => useRetry(error, () => loaded.push(name));
  const busy = refused(503);
  const shown = renderHook(retry(busy, "first"));
  await settled();
  shown.show(retry(busy, "second"));
  await after(2_999);
  expect(loaded).toEqual([]);
  await after(1);
  expect(loaded).toEqual(["second"]);
  shown.show(retry(refused(404), "third"));
  await settled();
  await after(60_000);
  shown.show(retry(busy, "fourth"));
  await settled();
  shown.show(retry(undefined, "fifth"));
  await settled();
  await after(60_000);
  expect(loaded).toEqual(["second"]);
  await shown.close();
});

describe("a resource", () => {
  test("is loaded once, and keeps its value while it is loaded again", async () => {
    const shown = renderHook(() => useResource(load, ["a"]));
    expect(shown.current.value).toBeUndefined();
    await settled();
    expect(shown.current.value).toBe(1);
    const next = Promise.withResolvers<number>();
    results.push(next.promise);
    const reloaded = shown.current.reload();
    await settled();
    expect(shown.current.value).toBe(1);
    next.resolve(9);
    await reloaded;
    await settled();
    expect([shown.current.value, loads]).toEqual([9, 2]);
    await after(600_000);
    expect(loads).toBe(2);
    await shown.close();
  });

  test("shows no answer that an earlier load gets after a later one", async () => {
    const shown = renderHook(() => useResource(load, ["a"]));
    await settled();
    const early = Promise.withResolvers<number>();
    const failing = Promise.withResolvers<number>();
    results.push(early.promise, failing.promise);
    const reloads = [shown.current.reload(), shown.current.reload()];
    await shown.current.reload();
    await settled();
    expect(shown.current.value).toBe(4);
    early.resolve(7);
    failing.reject(refused(500));
    await Promise.all(reloads);
    await settled();
    expect([shown.current.value, shown.current.error]).toEqual([4, undefined]);
    await shown.close();
  });

  test("of other inputs is loaded again, and a late answer of the earlier ones is dropped", async () => {
    const first = Promise.withResolvers<number>();
    results.push(first.promise);
    const shown = renderHook(() => useResource(load, ["a"]));
    await settled();
    shown.show(() => useResource(load, ["b"]));
    await settled();
    expect(shown.current.value).toBe(2);
    first.resolve(7);
    await settled();
    expect(shown.current.value).toBe(2);
    const late = Promise.withResolvers<number>();
    results.push(late.promise);
    shown.show(() => useResource(load, ["c"]));
    expect(shown.current.value).toBeUndefined();
    await settled();
    shown.show(() => useResource(load, ["d"]));
    late.reject(new TypeError());
    await settled();
    expect([shown.current.value, shown.current.error]).toEqual([4, undefined]);
    await shown.close();
  });

  test("is loaded again after a failure that may pass, and keeps its value meanwhile", async () => {
    const shown = renderHook(() => useResource(load, ["a"]));
    await settled();
    results.push(refused(503), refused(403));
    await shown.current.reload();
    await settled();
    expect(shown.current.value).toBe(1);
    expect(shown.current.error).toBeInstanceOf(RequestRefused);
    await after(2_999);
    expect(loads).toBe(2);
    await after(1);
    expect(loads).toBe(3);
    await after(60_000);
    expect(loads).toBe(3);
    await shown.current.reload();
    await settled();
    expect([shown.current.value, shown.current.error]).toEqual([4, undefined]);
    await shown.close();
  });

  test("is gone once the server no longer has it, whereas another refusal leaves it shown", async () => {
    const shown = renderHook(() => useResource(load, ["a"], 5_000));
    await settled();
    results.push(refused(403));
    await after(5_000);
    expect([shown.current.value, shown.current.error]).toEqual([1, refused(403)]);
    results.push(refused(404));
    await after(5_000);
    expect([shown.current.value, shown.current.error]).toEqual([undefined, refused(404)]);
    await after(5_000);
    expect([shown.current.value, shown.current.error]).toEqual([4, undefined]);
    await shown.close();
  });

  test("of other inputs shows no failure of the earlier ones, nor repeats their load", async () => {
    results = [refused(404)];
    const shown = renderHook(() => useResource(load, ["a"]));
    await settled();
    expect(shown.current.error).toBeInstanceOf(RequestRefused);
    const next = Promise.withResolvers<number>();
    results.push(next.promise);
    shown.show(() => useResource(load, ["b"]));
    await settled();
    expect([shown.current.value, shown.current.error]).toEqual([undefined, undefined]);
    next.resolve(7);
    await settled();
    expect([shown.current.value, shown.current.error, loads]).toEqual([7, undefined, 2]);

    results.push(refused(503));
    shown.show(() => useResource(load, ["c"]));
    await settled();
    const last = Promise.withResolvers<number>();
    results.push(last.promise);
    shown.show(() => useResource(load, ["d"]));
    await settled();
    await after(3_000);
    expect(loads).toBe(4);
    last.resolve(8);
    await settled();
    expect(shown.current.value).toBe(8);
    await shown.close();
  });

  test("is loaded again as its inputs are then", async () => {
    const failing = () => Promise.reject(refused(503));
    const shown = renderHook(() => useResource<number>(failing, ["a"]));
    await settled();
    shown.show(() => useResource<number>(load, ["a"]));
    await settled();
    await after(3_000);
    expect(shown.current.value).toBe(1);
    await shown.close();
  });

  test("is loaded every so often while the page is visible and no load is in progress", async () => {
    const shown = renderHook(() => useResource(load, ["a"], 1_000));
    await settled();
    await after(1_000);
    expect(loads).toBe(2);
    page.document.hidden = true;
    await after(1_000);
    expect(loads).toBe(2);
    page.document.hidden = false;
    const slow = Promise.withResolvers<number>();
    results.push(slow.promise);
    await after(1_000);
    await after(1_000);
    expect(loads).toBe(3);
    slow.resolve(5);
    await settled();
    await after(1_000);
    expect(loads).toBe(4);
    await shown.close();
    await after(5_000);
    expect(loads).toBe(4);
  });

  test("keeps its value when it is no longer loaded every so often, until it is again", async () => {
    const every = (ms?: number) => () => useResource(load, ["a"], ms);
    const shown = renderHook(every(1_000));
    await settled();
    await after(1_000);
    shown.show(every());
    await settled();
    await after(600_000);
    expect([shown.current.value, loads]).toEqual([2, 2]);
    shown.show(every(1_000));
    await settled();
    await after(1_000);
    expect([shown.current.value, loads]).toEqual([3, 3]);
    await shown.close();
  });

  test("waits as long as the server asks, and continues after a success", async () => {
    const shown = renderHook(() => useResource(load, ["a"], 1_000));
    await settled();
    results.push(refused(429, 10.5));
    await after(1_000);
    for (let second = 0; second < 10; second++) await after(1_000);
    expect(loads).toBe(2);
    await after(500);
    expect(loads).toBe(3);
    await after(500);
    expect(loads).toBe(4);
    await shown.close();
  });
});

describe("pages of a list", () => {
  interface Answer {
    list: string[];
    cursor?: string;
  }
  const cursors: object[] = [];
  let answers: (Answer | Error | Promise<Answer>)[] = [];
  const request = async (cursor: object) => {
    cursors.push(cursor);
    const next = answers.shift();
    if (next instanceof Error) throw next;
    return (await next) ?? { list: ["x"] };
  };
  const shownFor = (form: object) => () => usePages(form, request, ({ list }: Answer) => list);
  beforeEach(() => {
    cursors.length = 0;
    answers = [];
  });

  test("grow by the page that the cursor of the last one names", async () => {
    answers.push({ list: ["a"], cursor: "1" }, { list: ["b"] });
    const shown = renderHook(shownFor({ text: "" }));
    await settled();
    await shown.current.loadOlder();
    await settled();
    expect(shown.current.items).toEqual(["a", "b"]);
    expect(shown.current.last).toEqual({ list: ["b"] });
    expect(cursors.map((it) => Object.entries(it))).toEqual([[], [["cursor", "1"]]]);
    await shown.close();
  });

  test("begin again with another form and at a restart, without late answers", async () => {
    const late = Promise.withResolvers<Answer>();
    answers.push(late.promise, { list: ["b"] });
    const shown = renderHook(shownFor({ text: "a" }));
    await settled();
    shown.show(shownFor({ text: "b" }));
    await settled();
    late.resolve({ list: ["a"] });
    await settled();
    expect(shown.current.items).toEqual(["b"]);
    const next = Promise.withResolvers<Answer>();
    answers.push(next.promise);
    shown.current.restart();
    await settled();
    expect(shown.current.items).toBeUndefined();
    next.resolve({ list: ["c"] });
    await settled();
    expect(shown.current.items).toEqual(["c"]);
    await shown.close();
  });

  test("begin again after a failure that may pass", async () => {
    answers.push(refused(500), { list: ["a"] });
    const shown = renderHook(shownFor({}));
    await settled();
    expect([shown.current.items, shown.current.error]).toEqual([undefined, refused(500)]);
    await after(3_000);
    expect([shown.current.items, shown.current.error]).toEqual([["a"], undefined]);
    await shown.close();
  });

  test("of a form that was left show no failure of it", async () => {
    const late = Promise.withResolvers<Answer>();
    answers.push(late.promise);
    const shown = renderHook(shownFor({ text: "a" }));
    await settled();
    shown.show(shownFor({ text: "b" }));
    await settled();
    late.reject(refused(500));
    await settled();
    expect([shown.current.items, shown.current.error]).toEqual([["x"], undefined]);
    await shown.close();
  });
});
