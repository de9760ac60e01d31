import { describe, expect, test } from "bun:test";
import { Glob } from "bun";
import { createAges } from "../../src/observe/ages.ts";

const HOUR = 3_600_000;
const STARTED = 1_700_000_000_000;

/** A machine whose wall clock can be set. */
function machine(started = STARTED) {
  let elapsed = 0;
  let wall = started;
  const age = createAges(
    () => wall,
    () => elapsed,
  );
  return {
    age,
    wall: () => wall,
    pass(ms: number) {
      elapsed += ms;
      wall += ms;
    },
    set(ms: number) {
      wall += ms;
    },
  };
}

describe("an age by a clock that is set", () => {
  test("an age is the time that has passed, and never negative", () => {
    const { age, wall, pass } = machine();
    const at = wall();
    pass(5_000);
    expect([age(at), age(at - 1_000), age(at + 5_000), age(at + 9_000)]).toEqual([
      ...[5_000, 6_000, 0, 0],
    ]);
  });

  test.each([2 * HOUR, -2 * HOUR])(
    "an age does not follow a wall clock that is set by %d ms",
    (step) => {
      const { age, wall, pass, set } = machine();
      const before = wall();
      pass(60_000);
      // The clock steps between two checks; no age is read meanwhile.
      set(step);
      pass(10);
      const after = wall();
      pass(5_000);
      expect(age(before)).toBe(65_010);
      expect(age(after)).toBe(5_000);
      pass(HOUR / 2);
      expect(age(before)).toBe(HOUR / 2 + 65_010);
      expect(age(after)).toBe(HOUR / 2 + 5_000);
    },
  );

  test("an event of a node whose clock is slightly ahead is new, also after this clock was set back", () => {
    const { age, wall, pass, set } = machine();
    pass(1_000);
    set(-HOUR);
    pass(1_000);
    expect([age(wall() + 20), age(wall() - 20)]).toEqual([0, 20]);
  });

  test("an age stays correct while the wall clock is set forward and back and corrected gradually", () => {
    const { age, wall, pass, set } = machine();
    for (const step of [2 * HOUR, -4 * HOUR, 2 * HOUR]) {
      const at = wall();
      set(step);
      pass(20_000);
      expect(age(at)).toBe(20_000);
    }
    const at = wall();
    for (let second = 0; second < 100; second++) {
      pass(1_000);
      set(-100);
      age(at);
    }
    // A gradual correction of the wall clock adds nothing to the age.
    expect(age(at)).toBe(90_000);
  });

  test("the earliest time that it can be now is in no year before a clock that is set", () => {
    const { age, pass, set } = machine(0);
    pass(5_000);
    expect(age.earliestNow()).toBe(5_000);
    const now = Date.UTC(2027, 0);
    set(now - 5_000);
    expect(age.earliestNow()).toBe(now);
    // Data that was stored before the clock was set still counts as new.
    expect(age(1_000)).toBe(4_000);
    set(HOUR);
    expect(age.earliestNow()).toBe(now);
    set(-2 * HOUR);
    expect(age.earliestNow()).toBe(now - HOUR);
  });

  test("an age counts the time before the start of the process", () => {
    const { age } = machine();
    expect(age(STARTED - 3 * HOUR)).toBe(3 * HOUR);
  });
});

/** Files that compute an age by the wall clock, each with the only use of this age. */
const SHOWN: Record<string, string> = {
  "src/api/routes/status/figure-answers.ts": "the range of an answer",
  "src/api/routes/status/problems.ts": "a time that is shown",
  "src/api/routes/status/workspace-state.ts": "a time that is shown",
  "src/cli/client/dead-letters.ts": "a time that is shown",
  "src/cli/client/overview-text.ts": "a time that is shown",
  "src/cli/client/time-flag.ts": "the range of a question",
  "src/pipeline/clock.ts": "the clock itself",
};

test("only ages that are shown follow a wall clock that is set", async () => {
  const found: string[] = [];
  for (const path of new Glob("src/**/*.ts").scanSync(".")) {
    if (/^src\/(console|sandbox|build|package)\//.test(path)) continue;
    const text = await Bun.file(path).text();
    if (/\bDate\.now\(\)/.test(text) && /(?<!performance\.)\bnow(\(\))? - /.test(text))
      found.push(path);
  }
  expect(found.sort()).toEqual(Object.keys(SHOWN).sort());
});
