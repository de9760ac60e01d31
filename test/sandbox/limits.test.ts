import { expect, test } from "bun:test";
import { usableMemory } from "../../src/observe/memory.ts";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import { GUESTS_MEMORY_SHARE_MAX } from "../../src/settings/limits.ts";

test("guests may use a part of the memory of the machine, and code may end four before it waits", () => {
  const { totalBytes } = usableMemory();
  expect(defaultLimits.memoryBytes / totalBytes).toBeCloseTo(GUESTS_MEMORY_SHARE_MAX);
  expect(defaultLimits).toMatchObject({ graceMs: 500, freeLosses: 4, spares: 1 });
});
