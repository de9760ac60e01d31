import { expect, test } from "bun:test";
import { commitFault } from "../../src/store/lmdb/environment.ts";

const rejected = (reason: unknown) => commitFault({ status: "rejected", reason });
const errorWith = (more: object) => Object.assign(new Error("failed"), more);

test("a transaction that succeeded, or whose change threw, has no fault of the disk", () => {
  expect(commitFault({ status: "fulfilled", value: errorWith({ code: -30792 }) })).toBeUndefined();
  expect(rejected(new Error("refused"))).toBeUndefined();
  // A system call that the change made has a code that is a text.
  expect(rejected(errorWith({ code: "ENOENT" }))).toBeUndefined();
  expect(rejected({ code: -30792 })).toBeUndefined();
  expect(rejected(undefined)).toBeUndefined();
});

test("an error of LMDB is the fault of its transaction", async () => {
  const full = errorWith({ code: -30792 });
  expect(await rejected(full)).toBe(full);
  const cause = errorWith({ code: 28 });
  expect(await rejected(errorWith({ commitError: cause }))).toBe(cause);
  // LMDB may report the reason later, by a promise that rejects.
  const later = errorWith({ commitError: Promise.reject(cause) });
  expect(await rejected(later)).toBe(cause);
});
