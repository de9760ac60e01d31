import { expect, test } from "bun:test";
import type { LiveProgram } from "../../src/catalog/live.ts";
import { BatchSize } from "../../src/pipeline/lane/batch-size.ts";

const plain = "export function transformEvent(event) { return event; }";
const programOf = (code: string, library = "") =>
  ({ transformation: { code }, libraries: [{ code: library }] }) as LiveProgram;

/** Size of the next batch after one of 100 events. */
function sizeAfter({ seconds = 0.01, bytes = 500, program = programOf(plain) }) {
  const size = new BatchSize();
  size.noteOutputBytes(bytes);
  size.noteRun(100, seconds);
  return size.eventsMax(program);
}

test("quick code over small events gets large batches, once it has run", () => {
  expect(new BatchSize().eventsMax(programOf(plain))).toBe(100);
  expect(sizeAfter({})).toBe(250);
});

test("slow code and large events get no more events than new code", () => {
  expect(sizeAfter({ seconds: 0.4 })).toBe(125);
  expect(sizeAfter({ seconds: 4 })).toBe(100);
  expect(sizeAfter({ bytes: 2 << 10 })).toBe(128);
  expect(sizeAfter({ bytes: 30 << 10 })).toBe(100);
});

test("code that may make requests gets as few events as new code", () => {
  expect(sizeAfter({ program: programOf("await fetchV2(url)") })).toBe(100);
  expect(sizeAfter({ program: programOf(plain, "export const place = geolocation;") })).toBe(100);
});
