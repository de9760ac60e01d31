import { describe, expect, test } from "bun:test";
import { pino } from "pino";
import { Story } from "../../src/pipeline/settling/announcements.ts";

/** A story with a clock that the test moves, and the lines that it told. */
function begin() {
  const lines: any[] = [];
  let now = 1_000_000;
  const logger = pino(
    { formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => lines.push(JSON.parse(line)) },
  );
  const destination = {
    ...{ id: "d1", workspaceId: "w1", name: "Warehouse", type: "webhook", enabled: true },
    ...{ config: {}, createdAt: 0, updatedAt: 0 },
  };
  const story = new Story({
    clock: { elapsed: () => now },
    logger,
    destination: () => destination,
  });
  const told = () =>
    lines.splice(0).map(({ level, msg, ...more }) => ({ told: `${level}: ${msg}`, ...more }));
  return {
    story,
    told,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const retry = { kind: "retry", reason: "Answered 503" } as const;
const delivered = { kind: "delivered" } as const;
const deadLetter = { kind: "dead-letter", stage: "deliver", reason: "Answered 400" } as const;

describe("the log is told", () => {
  test("once that a destination fails, once that it is down, once that it recovered", () => {
    const { story, told, pass } = begin();
    for (let seconds = 0; seconds < 30; seconds++) {
      story.attempted(retry);
      pass(1_000);
    }
    const [fails, down, ...more] = told();
    expect(fails).toMatchObject({
      told: "warn: A destination fails; it is tried again",
      ...{
        workspaceId: "w1",
        destinationId: "d1",
        destination: "Warehouse",
        reason: "Answered 503",
      },
    });
    expect(down).toMatchObject({
      told: "error: A destination is down: nothing got through",
      ...{ attempts: 11, seconds: 10 },
    });
    expect(more).toEqual([]);
    story.attempted({ kind: "rejected", reason: "Answered 400" });
    expect(told()).toEqual([]);
    story.attempted(delivered);
    story.attempted(delivered);
    expect(told()).toMatchObject([
      { told: "info: A destination recovered", attempts: 30, seconds: 30 },
    ]);
  });

  test("of a destination that flaps once a minute", () => {
    const { story, told, pass } = begin();
    for (let seconds = 0; seconds < 120; seconds++) {
      story.attempted(seconds % 2 === 0 ? retry : delivered);
      pass(1_000);
    }
    expect(told().map((line) => line.told)).toEqual([
      "warn: A destination fails; it is tried again",
      "info: A destination recovered",
      "warn: A destination fails; it is tried again",
      "info: A destination recovered",
    ]);
  });

  test("of the first dead letter with its reason, of the others by their number", () => {
    const { story, told } = begin();
    story.ended(1, deadLetter);
    story.ended(3, { ...deadLetter, stage: "transform", reason: "what a visitor typed" });
    story.ended(5, deadLetter);
    story.ended(7, { kind: "delivered" });
    const [first, ...later] = told();
    expect(first).toMatchObject({
      told: "warn: Events became dead letters",
      ...{ failedInCode: 0, notDelivered: 1, reason: "Answered 400" },
    });
    expect(later).toEqual([]);
    story.end();
    const rest = told();
    expect(rest).toMatchObject([{ failedInCode: 3, notDelivered: 5 }]);
    expect(JSON.stringify(rest)).not.toContain("visitor");
    story.end();
    expect(told()).toEqual([]);
  });
});
