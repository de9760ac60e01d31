import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { readProcessUsage } from "../../../src/sandbox/process/process-usage.ts";

test("the memory, the threads and the CPU time of a process are those that it has", () => {
  const held = Buffer.alloc(64 << 20, 1);
  const began = process.cpuUsage();
  const usage = readProcessUsage(process.pid)!;
  const { rss } = process.memoryUsage();
  expect(held).toHaveLength(64 << 20);
  expect(usage.residentBytes).toBeGreaterThan(rss / 2);
  expect(usage.residentBytes).toBeLessThan(rss * 2);
  expect(usage.anonymousBytes).toBeGreaterThanOrEqual(64 << 20);
  expect(usage.anonymousBytes).toBeLessThan(usage.residentBytes);
  // Whole pages.
  expect([usage.residentBytes % 4_096, usage.anonymousBytes % 4_096]).toEqual([0, 0]);
  const threads = readdirSync("/proc/self/task").length;
  expect(Math.abs(usage.threads - threads)).toBeLessThanOrEqual(4);
  // Ticks of 10 ms, and the kernel rounds each of four figures.
  expect(usage.cpuMs).toBeGreaterThan((began.user + began.system) / 1_000 - 100);
  expect(usage.mainCpuMs).toBeGreaterThan(0);
  // The main thread is read after the process, which used CPU time in between.
  expect(usage.mainCpuMs).toBeLessThanOrEqual(usage.cpuMs + 100);
});

test("a process that has ended has no usage", () => {
  expect(readProcessUsage(2 ** 30)).toBeUndefined();
});
