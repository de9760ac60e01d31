import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { QUERY } from "../../bench/parse-query.ts";
import { writeEvent } from "../../src/event/event.ts";
import { runs } from "../tier.ts";
import { recordOf } from "./agreement.ts";

/** Growth of a process that never collects, in bytes per operation. */
async function growth(work: string, count: number): Promise<number> {
  const child = Bun.spawn(
    [process.execPath, `${import.meta.dir}/allocation-child.ts`, work, String(count)],
    { env: { ...process.env, BUN_JSC_useGC: "0" }, stderr: "inherit" },
  );
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return Number(text);
}

const EVENTS = runs(50_000, 1_000_000);

test(`${EVENTS} events are built without an allocation`, async () => {
  expect(await growth("event", EVENTS)).toBeLessThan(1);
}, 300_000);

test("events that go through the tree are built without an allocation", async () => {
  expect(await growth("tree", EVENTS / 2)).toBeLessThan(1);
}, 300_000);

test("an inspection allocates its result, and nothing for a parameter", async () => {
  expect(await growth("inspect", EVENTS / 20)).toBeLessThan(250);
}, 300_000);

test(`${EVENTS} records are encoded without an allocation`, async () => {
  expect(await growth("encode", EVENTS)).toBeLessThan(1);
}, 300_000);

test("records of SDKs are encoded, and their members are found, without an allocation", async () => {
  expect(await growth("encodeJson", EVENTS)).toBeLessThan(1);
  expect(await growth("outline", EVENTS / 2)).toBeLessThan(1);
}, 300_000);

test("the measure detects a parser that allocates", async () => {
  expect(await growth("control", 500)).toBeGreaterThan(1_000);
}, 300_000);

test("the heap does not grow with garbage collection either", () => {
  const record = recordOf(QUERY, "track");
  const build = () => {
    for (let i = 0; i < runs(10_000, 50_000); i++) writeEvent(record);
    Bun.gc(true);
    const { heapSize, objectCount } = heapStats();
    return { heapSize, objectCount };
  };
  // Compilers and other tests allocate in some rounds; what events leave would show in each.
  const rounds = Array.from({ length: 6 }, build);
  const least = (key: "heapSize" | "objectCount") =>
    Math.min(...rounds.slice(1).map((round, i) => round[key] - rounds[i]![key]));
  expect(least("heapSize")).toBeLessThan(64 << 10);
  expect(least("objectCount")).toBeLessThan(50);
}, 300_000);
