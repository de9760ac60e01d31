import { expect, test } from "bun:test";
import { parseOutput } from "./output.ts";
import { report } from "./report.ts";

const files = ["test/a.test.ts", "test/b.test.ts"];
const printed = (text: string) => text.split("\n").map((line, at) => ({ at: at * 1_000, line }));
const parse = (text: string, exitCode: number | null) =>
  parseOutput(files, printed(text), { started: 0, ended: 20_000, exitCode });

const WHOLE = `bun test v1
test/a.test.ts:
(pass) one [1.00ms]
(skip) two > three (skipped: nginx not installed)
test/b.test.ts:
printed by the test
error: expected 1
(fail) four [1.00ms]

1 tests failed:
(fail) four [1.00ms]

 1 pass
Ran 3 tests across 2 files. [5.00s]`;

test("tests, seconds and printed lines belong to their file", () => {
  const [a, b] = parse(WHOLE, 1);
  expect(a).toMatchObject({ passed: 1, failed: 0, seconds: 4, output: "bun test v1" });
  expect(a!.skipped).toEqual(["two > three (skipped: nginx not installed)"]);
  expect(b).toMatchObject({ passed: 0, failed: 1, seconds: 16 });
  expect(b!.output).toBe("printed by the test\nerror: expected 1\n(fail) four [1.00ms]");
});

test.each([
  ["is killed", "bun test v1\ntest/a.test.ts:\n(pass) one [1.00ms]", null],
  ["fails outside of tests", WHOLE.replaceAll(/\(fail\).*\n/g, ""), 1],
] as const)("a process that %s counts as a failure", (_, text, exitCode) => {
  const results = parse(text, exitCode);
  expect(results.reduce((sum, { failed }) => sum + failed, 0)).toBe(1);
  expect(report(results).failed).toBe(1);
});

test("a process that computes without a line counts as a failure of the file that runs", () => {
  const text = "bun test v1\ntest/a.test.ts:\n(pass) one [1.00ms]\ntest/b.test.ts:";
  const ending = { started: 0, ended: 20_000, exitCode: null, spinningSeconds: 240 };
  const [a, b] = parseOutput(files, printed(text), ending);
  expect([a!.failed, b!.failed]).toEqual([0, 1]);
  expect(b!.output).toBe("The process was killed: it printed no line for 240 s of CPU time");
});

test("the report counts skipped tests by reason, and names files with failures", () => {
  const { text, passed, failed } = report(parse(WHOLE, 1));
  expect([passed, failed]).toEqual([1, 1]);
  expect(text).toContain("      1  nginx not installed\n");
  expect(text).toContain("   16.0  test/b.test.ts\n");
});
