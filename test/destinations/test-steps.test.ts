import { expect, spyOn, test } from "bun:test";
import { testEvent } from "../../src/destinations/test-event.ts";
import { connectionSteps, TestSteps, testSteps } from "../../src/destinations/test-steps.ts";

test("a step lasts from the end of the step before it, in whole milliseconds", () => {
  let now = 1_000;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  try {
    const steps = new TestSteps();
    now += 1.4;
    steps.passed("resolve");
    now += 2.6;
    steps.passed("connect", "A remark", { status: 200 });
    steps.failed("write", "It failed", { code: "7" });
    steps.failed("clean-up", "It failed too");
    expect(steps.done).toStrictEqual([
      { step: "resolve", ok: true, durationMs: 1 },
      { step: "connect", ok: true, message: "A remark", durationMs: 3, answer: { status: 200 } },
      { step: "write", ok: false, message: "It failed", durationMs: 0, answer: { code: "7" } },
      { step: "clean-up", ok: false, message: "It failed too", durationMs: 0 },
    ]);
  } finally {
    clock.mockRestore();
  }
});

test("a connection has a step for TLS only where it is secure", () => {
  expect(connectionSteps(true)).toEqual(["resolve", "connect", "tls"]);
  expect(connectionSteps(false)).toEqual(["resolve", "connect"]);
  expect([...testSteps]).toEqual([
    ...["resolve", "connect", "tls", "sign-in", "write", "clean-up"],
  ] as never);
});

test("the event of a connection test shows in its JSON and its origin that it is a test", () => {
  const now = spyOn(Date, "now").mockReturnValue(1_790_000_000_123);
  try {
    const { bytes, input, byCode } = testEvent();
    const { messageId } = input;
    expect(messageId).toMatch(/^[0-9a-f-]{36}$/);
    expect({ input, byCode }).toEqual({
      input: {
        ...{ messageId, sourceId: "connection-test", receivedAt: 1_790_000_000_123, type: "track" },
      },
      byCode: false,
    });
    const time = new Date(1_790_000_000_123).toISOString();
    expect(JSON.parse(Buffer.from(bytes).toString())).toEqual({
      ...{ type: "track", event: "Connection test", messageId, anonymousId: "connection-test" },
      ...{ properties: {}, context: {}, originalTimestamp: time, sentAt: time, receivedAt: time },
    });
    expect(testEvent().input.messageId).not.toBe(messageId);
  } finally {
    now.mockRestore();
  }
});
