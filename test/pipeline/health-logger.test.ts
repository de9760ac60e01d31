import { describe, expect, jest, onTestFinished, test } from "bun:test";
import { pino } from "pino";
import { HealthLogger } from "../../src/pipeline/monitoring/health-logger.ts";

/** A health logger with a clock that the test moves, and the lines that it logged. */
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
  const announcements = new HealthLogger({
    clock: { elapsed: () => now },
    logger,
    destination: () => destination,
  });
  const told = () =>
    lines.splice(0).map(({ level, msg, ...more }) => ({ told: `${level}: ${msg}`, ...more }));
  return {
    announcements,
    told,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const retry = { kind: "retry", reason: "Answered 503" } as const;
const rejected = { kind: "rejected", reason: "Answered 400" } as const;
const delivered = { kind: "delivered" } as const;
const deadLetter = { kind: "dead-letter", stage: "deliver", reason: "Answered 400" } as const;

describe("health log", () => {
  test("a destination that fails, is down and recovers is logged once each", () => {
    const { announcements, told, pass } = begin();
    for (let seconds = 0; seconds < 30; seconds++) {
      announcements.recordAttempt(retry);
      pass(1_000);
    }
    const [fails, down, ...more] = told();
    expect(fails).toMatchObject({
      told: "warn: destination fails; retrying",
      ...{
        workspaceId: "w1",
        destinationId: "d1",
        destination: "Warehouse",
        reason: "Answered 503",
      },
    });
    expect(down).toMatchObject({
      told: "error: destination is down",
      ...{ attempts: 11, seconds: 10 },
    });
    expect(more).toEqual([]);
    announcements.recordAttempt(delivered);
    announcements.recordAttempt(delivered);
    expect(told()).toMatchObject([
      { told: "info: destination recovered", attempts: 30, seconds: 30 },
    ]);
  });

  test("an outage ends with a refusal, and a failure after it begins another one", () => {
    const { announcements, told, pass } = begin();
    announcements.recordAttempt(retry);
    pass(60_000);
    announcements.recordAttempt(rejected);
    announcements.recordAttempt(rejected);
    announcements.recordAttempt(retry);
    expect(told()).toMatchObject([
      { told: "warn: destination fails; retrying" },
      { told: "info: destination answers again, and refuses events", attempts: 1, seconds: 60 },
      { told: "warn: destination fails; retrying" },
    ]);
  });

  test("a destination that flaps is logged once a minute", () => {
    const { announcements, told, pass } = begin();
    for (let seconds = 0; seconds < 120; seconds++) {
      announcements.recordAttempt(seconds % 2 === 0 ? retry : delivered);
      pass(1_000);
    }
    expect(told().map((line) => line.told)).toEqual([
      "warn: destination fails; retrying",
      "info: destination recovered",
      "warn: destination fails; retrying",
      "info: destination recovered",
    ]);
  });

  test("the first dead letter is logged with its reason, the others by their number", () => {
    const { announcements, told } = begin();
    announcements.recordOutcome(1, deadLetter);
    announcements.recordOutcome(3, {
      ...deadLetter,
      stage: "transform",
      reason: "what a visitor typed",
    });
    announcements.recordOutcome(5, deadLetter);
    announcements.recordOutcome(7, { kind: "delivered" });
    const [first, ...later] = told();
    expect(first).toMatchObject({
      told: "warn: events became dead letters",
      ...{ failedInCode: 0, notDelivered: 1, reason: "Answered 400" },
    });
    expect(later).toEqual([]);
    announcements.close();
    const rest = told();
    expect(rest).toMatchObject([{ failedInCode: 3, notDelivered: 5 }]);
    expect(JSON.stringify(rest)).not.toContain("visitor");
    announcements.close();
    expect(told()).toEqual([]);
  });

  test("later dead letters are logged once a minute, until a minute has none", () => {
    jest.useFakeTimers();
    onTestFinished(() => void jest.useRealTimers());
    const { announcements, told } = begin();
    const counts = () => told().map((it) => [it.failedInCode, it.notDelivered, it.reason]);
    announcements.recordOutcome(2, { ...deadLetter, stage: "transform", reason: "Secret" });
    expect(counts()).toEqual([[2, 0, undefined]]);
    announcements.recordOutcome(4, deadLetter);
    jest.advanceTimersByTime(59_999);
    expect(counts()).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(counts()).toEqual([[0, 4, undefined]]);
    announcements.recordOutcome(1, { ...deadLetter, stage: "transform" });
    jest.advanceTimersByTime(60_000);
    expect(counts()).toEqual([[1, 0, undefined]]);
    jest.advanceTimersByTime(60_000);
    expect(counts()).toEqual([]);
    announcements.recordOutcome(1, deadLetter);
    expect(counts()).toEqual([[0, 1, "Answered 400"]]);
    announcements.recordOutcome(1, deadLetter);
    announcements.close();
    expect(counts()).toEqual([[0, 1, undefined]]);
    jest.advanceTimersByTime(120_000);
    expect(counts()).toEqual([]);
  });

  test("an outage that was not logged begins with the first failure a minute after the last logged one", () => {
    const { announcements, told, pass } = begin();
    announcements.recordAttempt(rejected);
    announcements.recordAttempt(delivered);
    announcements.recordAttempt(retry);
    announcements.recordAttempt(delivered);
    expect(told().map((line) => line.told)).toEqual([
      "warn: destination fails; retrying",
      "info: destination recovered",
    ]);
    pass(59_999);
    announcements.recordAttempt(retry);
    expect(told()).toEqual([]);
    pass(1);
    announcements.recordAttempt(retry);
    expect(told()).toHaveLength(1);
    pass(9_999);
    announcements.recordAttempt(retry);
    expect(told()).toEqual([]);
    pass(1);
    announcements.recordAttempt({ ...retry, reason: "Answered 500" });
    const about = { workspaceId: "w1", destinationId: "d1", destination: "Warehouse" };
    expect(told()).toMatchObject([
      { told: "error: destination is down", ...about, reason: "Answered 500", attempts: 3 },
    ]);
    pass(1_600);
    announcements.recordAttempt(delivered);
    expect(told()).toMatchObject([{ ...about, attempts: 3, seconds: 12 }]);
  });
});
