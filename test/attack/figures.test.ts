import { expect, test } from "bun:test";
import type { Sample } from "../crash/load.ts";
import { figuresOf, wronglyUnready } from "./figures.ts";

test("figures have the requests that began inside the span, by kind", () => {
  const sample = (kind: Sample["kind"], startedAt: number, ms: number, status = 200): Sample => ({
    ...{ kind, node: "node-1", startedAt, ms, status },
  });
  const samples = [
    sample("pixel", 9, 1_000),
    sample("pixel", 10, 3),
    sample("read", 11, 7),
    sample("pixel", 12, 40, 503),
    sample("pixel", 13, 5),
    sample("pixel", 20, 1_000),
  ];
  expect(figuresOf(samples, 10, 20)).toEqual({
    pixel: { statuses: { 200: 2, 503: 1 }, p50Ms: 5, p99Ms: 5, maxMs: 40 },
    read: { statuses: { 200: 1 }, p50Ms: 7, p99Ms: 7, maxMs: 7 },
  });
});

test("a node is wrongly not ready where it answers each request around that time, and at least five", () => {
  const samples = (node: string, status: number): Sample[] =>
    [8_600, 9_000, 10_000, 11_000, 11_400].map((startedAt) => ({
      ...{ kind: "pixel", node, startedAt, ms: 3, status },
    }));
  const all = [...samples("well", 200), ...samples("bad", 200), ...samples("bad", 503).slice(1, 2)];
  const look = (node: string, at: number, status = 503) => ({ node, at, status, failed: ["why"] });
  const wrong = look("well", 10_000);
  expect(wronglyUnready([wrong, look("bad", 10_000), look("idle", 10_000)], all)).toEqual([wrong]);
  expect(wronglyUnready([look("well", 10_000, 200), look("well", 20_000)], all)).toEqual([]);
});
