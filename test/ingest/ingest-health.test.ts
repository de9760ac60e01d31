import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  judgeIngest,
  type ProcessState,
  RecentOutcomes,
} from "../../src/ingest/supervisor/ingest-health.ts";
import { INGEST_JUDGED_EVENTS_MIN } from "../../src/settings/limits.ts";
import { runs } from "../tier.ts";

const FAULT = "The event log is not written: the disk is full";

function process(failing: number, writable: number, trouble?: string): ProcessState {
  return { trouble, log: { failing, writable, faults: failing > 0 ? [FAULT] : [] } };
}

const noPixels = { stored: 0, refused: 0, isRefusing: false };

test("a server is unwell when most partitions fail or most pixels are refused, and else warns", () => {
  const state = fc.record({ failing: fc.nat(12), writable: fc.nat(12) });
  const property = fc.property(
    fc.array(state, { minLength: 1, maxLength: 3 }),
    fc.record({ stored: fc.nat(200), refused: fc.nat(200), isRefusing: fc.boolean() }),
    (states, recent) => {
      const processes = states.map(({ failing, writable }) => process(failing, writable));
      const { trouble, warnings } = judgeIngest(processes, recent);
      const failing = states.reduce((sum, it) => sum + it.failing, 0);
      const writable = states.reduce((sum, it) => sum + it.writable, 0);
      const { stored, refused, isRefusing } = recent;
      const isJudged = isRefusing && stored + refused >= INGEST_JUDGED_EVENTS_MIN;
      const isUnwell = failing > writable || (isJudged && refused > stored);
      expect(trouble !== undefined).toBe(isUnwell);
      // Each fault is said once, in the trouble or in the warnings.
      const said = [...(trouble === undefined ? [] : [trouble]), ...warnings].join("; ");
      expect(said.split(FAULT).length - 1).toBe(failing > 0 ? 1 : 0);
      if (refused === 0) expect(said).not.toContain("refused");
    },
  );
  fc.assert(property, { numRuns: runs(300, 5_000) });
});

test("a process that does not run makes a server unwell, and is named", () => {
  const down = "Ingest process 1 is not running and is started again";
  const { trouble } = judgeIngest([process(0, 1), process(0, 0, down)], noPixels);
  expect(trouble).toBe(down);
});

test("partitions that were never written count neither as writable nor as failing", () => {
  expect(judgeIngest([process(0, 0)], noPixels)).toEqual({ trouble: undefined, warnings: [] });
  expect(judgeIngest([process(1, 0)], noPixels).trouble).toBe(FAULT);
  expect(judgeIngest([process(1, 5)], noPixels)).toEqual({ trouble: undefined, warnings: [FAULT] });
});

test("the share of refused pixels is that of the last minute, and ends with the refusals", () => {
  let now = 0;
  const outcomes = new RecentOutcomes(() => now);
  const judged = () =>
    judgeIngest([process(0, 1)], { ...outcomes.sum(), isRefusing: outcomes.isRefusing() });
  outcomes.add({ stored: 900, refused: 0 });
  now = 55_000;
  outcomes.add({ stored: 0, refused: 100 });
  expect(judged()).toEqual({
    trouble: undefined,
    warnings: ["100 of 1000 events of the last minute were refused with 503"],
  });
  now = 60_000;
  expect(judged().trouble).toBe("100 of 100 events of the last minute were refused with 503");
  now = 65_000;
  expect(judged()).toEqual({ trouble: undefined, warnings: [] });
});

test("refused pixels are warned of from a hundredth of all on, and are trouble above a half", () => {
  const judged = (stored: number, refused: number) => {
    const { trouble, warnings } = judgeIngest([process(0, 1)], {
      stored,
      refused,
      isRefusing: true,
    });
    return [trouble !== undefined, warnings.length];
  };
  expect(judged(991, 9)).toEqual([false, 0]);
  expect(judged(990, 10)).toEqual([false, 1]);
  expect(judged(50, 50)).toEqual([false, 1]);
  expect(judged(49, 50)).toEqual([true, 0]);
  // Too few to judge by.
  expect(judged(0, INGEST_JUDGED_EVENTS_MIN - 1)).toEqual([false, 0]);
  expect(judged(0, INGEST_JUDGED_EVENTS_MIN)).toEqual([true, 0]);
});

test("pixels that are stored in the same second as others are refused end no refusals", () => {
  let now = 0;
  const outcomes = new RecentOutcomes(() => now);
  outcomes.add({ stored: 5, refused: 5 });
  const refusing = [0, 9_999, 10_000].map((at) => {
    now = at;
    return outcomes.isRefusing();
  });
  expect(refusing).toEqual([true, true, false]);
});

test("refusals end within seconds once pixels are stored again, of whichever process", () => {
  let now = 0;
  const outcomes = new RecentOutcomes(() => now);
  outcomes.add({ stored: 0, refused: 100 });
  now = 1_000;
  outcomes.add({ stored: 10, refused: 0 });
  expect(outcomes.isRefusing()).toBe(true);
  now = 2_000;
  expect(outcomes.isRefusing()).toBe(false);
  // One of several processes refuses: another one's success ends nothing.
  outcomes.add({ stored: 0, refused: 100 });
  now = 2_100;
  outcomes.add({ stored: 10, refused: 0 });
  now = 3_000;
  outcomes.add({ stored: 0, refused: 100 });
  expect(outcomes.isRefusing()).toBe(true);
  now = 9_000;
  expect(outcomes.isRefusing()).toBe(true);
  now = 13_000;
  expect(outcomes.isRefusing()).toBe(false);
});

test("a single pixel tells whether pixels are refused or stored", () => {
  let now = 0;
  const outcomes = new RecentOutcomes(() => now);
  expect(outcomes.isRefusing()).toBe(false);
  outcomes.add({ stored: 0, refused: 1 });
  expect([outcomes.isRefusing(), outcomes.sum()]).toEqual([true, { stored: 0, refused: 1 }]);
  now = 1;
  outcomes.add({ stored: 1, refused: 0 });
  now = 2_000;
  expect([outcomes.isRefusing(), outcomes.sum()]).toEqual([false, { stored: 1, refused: 1 }]);
});
