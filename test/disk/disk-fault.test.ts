import { expect, test } from "bun:test";
import { describeDiskFault } from "../../src/disk/disk-fault.ts";

/** The clause depends on the free space of this machine. */
const FULL =
  /^the disk of \/tmp (is full \([\d,]+ bytes free\)|takes no more, although [\d,]+ bytes are free): /;

const coded = (code: string | number) =>
  Object.assign(new Error("No space left on device"), { code });

test("a failed write names the directory, the cause and what to do", () => {
  const cases = [
    ["ENOSPC", FULL],
    [28, FULL],
    ["EDQUOT", FULL],
    [122, FULL],
    ["EROFS", /read-only/],
    [30, /read-only/],
    ["EIO", /fails \(EIO\): check the disk$/],
    [5, /fails \(EIO\): check the disk$/],
    ["EACCES", /must not write to \/tmp/],
    ["EPERM", /must not write to \/tmp/],
    [13, /must not write to \/tmp/],
    [1, /must not write to \/tmp/],
    ["EMFILE", /^a write to \/tmp fails: too many open files \(EMFILE\)$/],
    [99, /^a write to \/tmp fails: No space left on device$/],
  ] as const;
  for (const [code, sentence] of cases) {
    expect(describeDiskFault("/tmp", coded(code))).toMatch(sentence);
  }
  expect(describeDiskFault("/tmp", new Error("Odd"))).toBe("a write to /tmp fails: Odd");
  expect(describeDiskFault("/tmp", null)).toBe("a write to /tmp fails: null");
  expect(describeDiskFault("/not/there", coded("ENOSPC"))).toBe(
    "the disk of /not/there is full: make space on it",
  );
});

test("a disk without a free byte is full, also where LMDB reports another error", () => {
  for (const code of ["ENOSPC", 28, "EDQUOT", 122, "EIO", 5]) {
    // The file system of the processes has no bytes to give.
    expect(describeDiskFault("/proc", coded(code))).toBe(
      "the disk of /proc is full (0 bytes free): make space on it",
    );
  }
});
