import { expect, jest, onTestFinished, test } from "bun:test";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createAlerting } from "../../src/alerts/alerting.ts";
import type { AlertFacts } from "../../src/alerts/facts.ts";
import type { AlertMessage } from "../../src/alerts/receivers/message.ts";
import type {
  Alert,
  AlertReceiver,
  NotificationKey,
  NotificationResult,
} from "../../src/catalog/alerts/model.ts";
import { newNotification } from "../../src/catalog/alerts/notification-states.ts";
import { ALERT_NOTIFICATIONS_PER_HOUR_MAX } from "../../src/settings/limits.ts";

const noFacts: AlertFacts = {
  isComplete: true,
  destinations: [],
  transformations: [],
  sources: [],
};

/** The alerts of these workspaces; each has an open alert of a rule that is gone. */
function setup(
  workspaces: string[],
  { holder = undefined as string | undefined, isShared = true, waiting = [] as Alert[] } = {},
) {
  const calls: string[] = [];
  const told: string[] = [];
  const messages: AlertMessage[] = [];
  let lease = holder === undefined ? undefined : { holder, renewals: 0 };
  let result: NotificationResult = { kind: "sent" };
  let releasing = async () => {};
  let sending = async (_: AbortSignal) => {};
  const list = { list: () => ({ items: [] }) };
  const alerts = {
    workspaces: () => workspaces,
    lease: () => lease,
    async takeLease(id: string) {
      calls.push("take the lease");
      lease = { holder: id, renewals: 0 };
    },
    async renewLease() {
      calls.push("renew the lease");
    },
    async releaseLease() {
      await releasing();
      lease = undefined;
    },
    ...{ rules: list, marks: () => new Map(), pending: () => waiting },
    claim: async (_: string, keys: NotificationKey[]) => keys,
    async settle() {
      waiting.length = 0;
    },
    open: (id: string) => [{ id: `alert of ${id}`, ruleId: "gone", subject: { id: "s" } }],
    async record(_: string, id: string, { ended }: { ended: string[] }) {
      calls.push(`record ${id}: ${ended}`);
    },
    receivers: {
      list: () => ({ items: [receiver({ enabled: true })] }),
      note: async (id: string, { kind }: NotificationResult) => calls.push(`note ${id} ${kind}`),
    },
  };
  const metrics = new Registry();
  const alerting = createAlerting({
    catalog: {
      alerts,
      workspaces: { get: (id: string) => (id === "w" ? { name: "Acme" } : undefined) },
      current: async () => void calls.push("read the catalog"),
    } as never,
    async send(_receiver, message, signal) {
      messages.push(message);
      await sending(signal);
      return result;
    },
    consoleUrl: () => "https://console",
    isShared,
    hasMailServer: () => true,
    logger: pino({}, { write: (line: string) => told.push(JSON.parse(line).msg) }),
    metrics: metrics as never,
    elapsed: () => 0,
    now: () => 0,
  });
  return {
    ...{ alerting, calls, told, messages },
    openGauge: async () =>
      (await metrics.getSingleMetric("pixelmill_alerts_open")!.get()).values[0]!.value,
    answer(next: NotificationResult) {
      result = next;
    },
    attempts: async () => {
      const name = "pixelmill_alert_notifications_total";
      const { values } = await metrics.getSingleMetric(name)!.get();
      return Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]));
    },
    sendWith(next: typeof sending) {
      sending = next;
    },
    failRelease() {
      releasing = () => Promise.reject(new Error("The store is closed"));
    },
  };
}

const receiver = (more: Partial<AlertReceiver> = {}) =>
  ({ id: "r", workspaceId: "w", name: "On call", type: "webhook", ...more }) as AlertReceiver;
const { signal } = new AbortController();

test("the holder of the lease evaluates each workspace, and stores what has changed", async () => {
  const { alerting, calls, openGauge } = setup(["w", "v"]);
  expect(await openGauge()).toBe(0);
  await alerting.evaluate(async () => noFacts);
  expect(calls.slice(0, 2)).toEqual(["read the catalog", "take the lease"]);
  expect(calls.slice(2).toSorted()).toEqual(["record v: alert of v", "record w: alert of w"]);
  expect(await openGauge()).toBe(2);
  expect(alerting.hasMailServer()).toBe(true);
});

test("another process than the holder evaluates nothing", async () => {
  const { alerting, calls, openGauge } = setup(["w"], { holder: "another" });
  await alerting.evaluate(async () => noFacts);
  expect(calls).toEqual(["read the catalog"]);
  expect(await openGauge()).toBe(0);
});

test("no process takes the lease while no workspace has rules", async () => {
  const { alerting, calls } = setup([]);
  await alerting.evaluate(async () => noFacts);
  expect(calls).toEqual([]);
});

test("a failure to read the facts of a workspace is logged, and the others are evaluated", async () => {
  const { alerting, calls, told } = setup(["w", "v"]);
  await alerting.evaluate(async (id) => {
    if (id === "w") throw new Error("A node does not answer");
    return noFacts;
  });
  expect(calls.filter((call) => call.startsWith("record"))).toEqual(["record v: alert of v"]);
  expect(told).toEqual(["alerts not evaluated or sent"]);
});

test("a test notification says so, and is noted with its result", async () => {
  const { alerting, calls, messages, answer } = setup([]);
  expect(await alerting.test(receiver(), signal)).toEqual({ kind: "sent" });
  expect(messages).toMatchObject([
    {
      ...{ phase: "test", title: "[Test] Test: On call", id: "test-r-test-r" },
      ...{ url: "https://console/#/system", workspace: { id: "w", name: "Acme" } },
      alert: {
        kind: "destination-failing",
        rule: { id: "test", name: "Test" },
        subject: { type: "server", id: "server" },
      },
    },
  ]);
  expect(messages[0]!.text).toStartWith("This is a test notification. Nothing is wrong");
  answer({ kind: "retry", reason: "HTTP 500" });
  await alerting.test(receiver({ workspaceId: "unknown" }), signal);
  expect(messages[1]!.workspace).toEqual({ id: "unknown", name: "unknown" });
  expect(calls).toEqual(["note r sent", "note r retry"]);
});

test("a test leaves no open incident in PagerDuty, and ends none that was not begun", async () => {
  const { alerting, messages, answer } = setup([]);
  const phases = () => messages.splice(0).map(({ phase }) => phase);
  await alerting.test(receiver({ type: "pagerduty" }), signal);
  expect(phases()).toEqual(["test", "end"]);
  answer({ kind: "retry", reason: "HTTP 500" });
  await alerting.test(receiver({ type: "pagerduty" }), signal);
  expect(phases()).toEqual(["test"]);
});

test("a test that a stop of the server cuts off says nothing about the receiver", async () => {
  const { alerting, calls, answer } = setup([]);
  answer({ kind: "retry", reason: "The operation was aborted" });
  await alerting.test(receiver(), AbortSignal.abort());
  expect(calls).toEqual([]);
  answer({ kind: "sent" });
  await alerting.test(receiver(), AbortSignal.abort());
  expect(calls).toEqual(["note r sent"]);
});

test("tests are bounded in each workspace", async () => {
  const { alerting, messages } = setup([]);
  for (let sent = 0; sent < ALERT_NOTIFICATIONS_PER_HOUR_MAX / 2; sent++) {
    await alerting.test(receiver(), signal);
  }
  const sent = messages.length;
  await expect(alerting.test(receiver(), signal)).rejects.toThrow(
    `at most ${ALERT_NOTIFICATIONS_PER_HOUR_MAX} notifications of a workspace in an hour`,
  );
  expect(messages).toHaveLength(sent);
  await alerting.test(receiver({ workspaceId: "v" }), signal);
});

test("a service that is closed gives the lease up, and evaluates nothing more", async () => {
  const { alerting, calls, told } = setup(["w"], { isShared: false });
  alerting.start(async () => noFacts);
  while (!calls.includes("take the lease")) await new Promise((resolve) => setImmediate(resolve));
  await alerting.close();
  const before = calls.length;
  await new Promise((resolve) => setImmediate(resolve));
  expect([calls.length, told]).toEqual([before, []]);
  // A failure to give up the lease is logged.
  const other = setup(["w"]);
  await other.alerting.evaluate(async () => noFacts);
  other.failRelease();
  await other.alerting.close();
  expect(other.told).toEqual(["lease of the alert evaluator not released"]);
});

/** An alert of which the receiver has not heard yet. */
const unsent = (): Alert => ({
  ...{ id: "a", workspaceId: "w", ruleId: "gone", ruleName: "Lag", kind: "lag" },
  subject: { type: "destination", id: "d", name: "Sink" },
  ...{ message: "Sink lags", createdAt: 0, notifications: [newNotification("r", "begin")] },
});

test("attempts to send notifications are counted by their result", async () => {
  const waiting = [unsent()];
  const { alerting, attempts, answer } = setup(["w"], { waiting });
  const count = async (result: string) => {
    while ((await attempts())[result] !== 1) await Bun.sleep(1);
  };
  await alerting.evaluate(async () => noFacts);
  await count("sent");
  answer({ kind: "retry", reason: "HTTP 500" });
  waiting.push({ ...unsent(), id: "b" });
  await alerting.evaluate(async () => noFacts);
  await count("failed");
  expect(await attempts()).toEqual({ sent: 1, failed: 1 });
});

test.each([true, false])(
  "a stop waits two seconds for a notification in progress, which then is cut off: %p",
  async (isSlow) => {
    jest.useFakeTimers();
    onTestFinished(() => void jest.useRealTimers());
    const { alerting, sendWith } = setup(["w"], { waiting: [unsent()] });
    const begun = Promise.withResolvers<AbortSignal>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    sendWith((signal) => {
      begun.resolve(signal);
      signal.addEventListener("abort", () => end());
      return ended;
    });
    await alerting.evaluate(async () => noFacts);
    const signal = await begun.promise;
    let isClosed = false;
    const closing = alerting.close().then(() => {
      isClosed = true;
    });
    jest.advanceTimersByTime(1_999);
    for (let turn = 0; turn < 20; turn++) await null;
    expect([isClosed, signal.aborted]).toEqual([false, false]);
    if (isSlow) jest.advanceTimersByTime(1);
    else end();
    await closing;
    jest.advanceTimersByTime(10_000);
    expect(signal.aborted).toBe(isSlow);
  },
);
