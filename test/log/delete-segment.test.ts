import { expect, test } from "bun:test";
import { closeSync, existsSync, fstatSync, openSync, writeFileSync } from "node:fs";
import { deleteSegment, LOG_FREE_STEP_BYTES } from "../../src/log/segment/delete-segment.ts";
import { segmentOf } from "../../src/log/segment/segments.ts";
import { holds } from "../until.ts";
import { temporaryDirectory, until } from "./support.ts";

test("a deleted segment loses its name at once, and its space step by step once unread", async () => {
  const segment = segmentOf(temporaryDirectory(), 0);
  const size = 4 * LOG_FREE_STEP_BYTES + 1;
  writeFileSync(segment.path, Buffer.alloc(size));
  const fd = openSync(segment.path, "r");
  const reads = Promise.withResolvers<void>();
  const deleted = deleteSegment(segment, () => reads.promise);
  await until(() => !existsSync(segment.path));
  await holds(20, () => expect(fstatSync(fd).size).toBe(size));

  reads.resolve();
  const sizes = new Set<number>();
  let done = false;
  void deleted.then(() => {
    done = true;
  });
  while (!done) {
    sizes.add(fstatSync(fd).size);
    await Bun.sleep(1);
  }
  expect(sizes.size).toBeGreaterThan(3);
  expect(fstatSync(fd).size).toBeLessThanOrEqual(LOG_FREE_STEP_BYTES);
  closeSync(fd);
});

test("deleting a segment that is gone does nothing", async () => {
  const segment = segmentOf(temporaryDirectory(), 0);
  await deleteSegment(segment, () => Promise.reject(new Error("never called")));
});
