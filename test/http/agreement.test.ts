import { expect, test } from "bun:test";
import { runSeed } from "../seed.ts";
import { agree } from "./agreement.ts";

/** `bun test/http/fuzz-long.ts` asks many more. */
test("our parser and Bun's agree on what a request is", async () => {
  const count = 4_000;
  const taken = await agree(count, runSeed);
  expect(taken).toBeGreaterThan(count / 20);
  expect(taken).toBeLessThan(count);
}, 300_000);
