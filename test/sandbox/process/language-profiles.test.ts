import { expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import { languageProfiles } from "../../../src/sandbox/process/language-profiles.ts";

const threads = Math.min(4, availableParallelism());

test.each([
  [
    "javascript",
    {
      TZ: "UTC",
      BUN_JSC_structureHeapSizeInKB: "65536",
      BUN_JSC_jitMemoryReservationSize: "67108864",
      // Switched off: what changes stack traces, what is faulty most often, and what code needs not.
      BUN_JSC_useTailCalls: "0",
      BUN_JSC_useDFGJIT: "0",
      BUN_JSC_useWasm: "0",
      BUN_JSC_useSharedArrayBuffer: "0",
      BUN_JSC_useShadowRealm: "0",
    },
  ],
  [
    "python",
    {
      TZ: "UTC",
      BUN_JSC_structureHeapSizeInKB: "65536",
      BUN_JSC_jitMemoryReservationSize: "134217728",
      BUN_JSC_useShadowRealm: "0",
      BUN_JSC_numberOfWasmCompilerThreads: `${threads}`,
    },
  ],
] as const)("a guest of %s has these environment variables and no other", (language, variables) => {
  expect(languageProfiles[language].environment).toEqual(variables);
});

test("JavaScript guests are ready from the start, and Python guests only where they are used", () => {
  const { javascript, python } = languageProfiles;
  const shown = [javascript, python].map(({ sparesFromStart, refillPauseMs, programsMax }) => [
    ...[sparesFromStart, refillPauseMs, programsMax],
  ]);
  expect(shown).toEqual([
    [true, 0, 256],
    [false, 100, 32],
  ]);
});
