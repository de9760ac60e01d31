import { expect, test } from "bun:test";
import { EvaluatorLease } from "../../src/alerts/evaluator-lease.ts";
import { NotificationSender } from "../../src/alerts/notification-sender.ts";
import { isQuiet, isTimeZone } from "../../src/alerts/quiet-hours.ts";
import type { AlertMessage } from "../../src/alerts/receivers/message.ts";
import type { Alerts } from "../../src/catalog/alerts/alerts.ts";
import type {
  Alert,
  AlertNotification,
  AlertReceiver,
  AlertRule,
  NotificationKey,
  NotificationResult,
} from "../../src/catalog/alerts/model.ts";
import {
  afterAttempt,
  newNotification,
  notificationsAtEnd,
} from "../../src/catalog/alerts/notification-states.ts";
import type { LeaseRow } from "../../src/catalog/alerts/tables.ts";
import {
  ALERT_ATTEMPTS_MAX,
  ALERT_NOTIFICATIONS_PER_HOUR_MAX,
  ALERT_RETRY_MS_MAX,
} from "../../src/settings/limits.ts";

/** Sends notifications of alerts in memory; a test decides how each attempt ends. */
function startSender(
  alerts: Alert[],
  receivers: Partial<AlertReceiver>[],
  rules: Partial<AlertRule>[] = [],
) {
  const clock = { ms: 0, now: 0 };
  const sent: { receiver: Partial<AlertReceiver>; message: AlertMessage }[] = [];
  const attempts: NotificationResult["kind"][] = [];
  const dropped: string[] = [];
  let result: (receiverId: string) => NotificationResult | Promise<NotificationResult> = () => ({
    kind: "sent",
  });
  let isLost = (_: NotificationKey) => false;
  let settling = async () => {};
  let lists = 0;
  const list = <T>(items: T[]) => ({
    list() {
      lists += 1;
      return { items };
    },
  });
  const change = (key: NotificationKey, next: (it: AlertNotification) => AlertNotification) => {
    const alert = alerts.find(({ id }) => id === key.alertId)!;
    alert.notifications = alert.notifications.map((it) =>
      it.receiverId === key.receiverId && it.phase === key.phase ? next(it) : it,
    );
  };
  const stored = {
    receivers: list(receivers.map((it) => ({ enabled: true, type: "webhook", ...it }))),
    rules: list(rules),
    pending: () => alerts.filter((it) => it.notifications.some(({ state }) => state === "pending")),
    async claim(_: string, keys: NotificationKey[]) {
      const claimed = keys.filter((key) => !isLost(key));
      for (const key of claimed) change(key, (it) => ({ ...it, attempts: it.attempts + 1 }));
      return claimed;
    },
    async settle(_: string, results: { key: NotificationKey; result: NotificationResult }[]) {
      await settling();
      for (const { key, result } of results) {
        if (result.kind === "dropped") dropped.push(result.reason);
        change(key, (it) => afterAttempt(it, result));
      }
    },
  };
  const sender = new NotificationSender({
    alerts: stored as unknown as Alerts,
    async send(receiver, message) {
      sent.push({ receiver, message });
      return await result(receiver.id);
    },
    workspaceName: (id) => `name of ${id}`,
    consoleUrl: () => "https://console",
    onAttempt: ({ kind }) => void attempts.push(kind),
    elapsed: () => clock.ms,
    now: () => clock.now,
  });
  const signals = {
    closing: new AbortController(),
    cutting: new AbortController(),
  };
  return {
    ...{ clock, sent, attempts, dropped, sender, signals },
    sendDue: () =>
      sender.sendDue("w1", "me", {
        closing: signals.closing.signal,
        cutting: signals.cutting.signal,
      }),
    answer(next: typeof result) {
      result = next;
    },
    lose(keys: typeof isLost) {
      isLost = keys;
    },
    settleWith(next: typeof settling) {
      settling = next;
    },
    /** Number of lists that were read: of receivers, or of rules. */
    lists: () => lists,
    states: () =>
      alerts.flatMap(({ notifications }) =>
        notifications.map(({ phase, state }) => `${phase} ${state}`),
      ),
  };
}

const pending = (receiverId = "r1") => newNotification(receiverId, "begin");
const alertWith = (notifications: AlertNotification[], more: Partial<Alert> = {}): Alert => ({
  ...{ id: "a1", workspaceId: "w1", ruleId: "rule", ruleName: "Lag", kind: "lag" },
  subject: { type: "destination", id: "d1", name: "Warehouse" },
  ...{ message: "Warehouse lags", createdAt: 0, notifications },
  ...more,
});

test("a notification that fails is sent again after 5 s, then after twice the time, up to the longest", async () => {
  const scene = startSender([alertWith([pending()])], [{ id: "r1" }]);
  scene.answer(() => ({ kind: "retry", reason: "HTTP 503" }));
  const waits: number[] = [];
  await scene.sendDue();
  for (let count = 1; count < 10; count += 1) {
    const from = scene.clock.ms;
    while (scene.sent.length === count) {
      scene.clock.ms += 2_500;
      await scene.sendDue();
    }
    waits.push(scene.clock.ms - from);
  }
  const doubled = [5, 10, 20, 40, 80, 160, 320].map((seconds) => 1_000 * seconds);
  expect(waits).toEqual([...doubled, ALERT_RETRY_MS_MAX, ALERT_RETRY_MS_MAX]);
  expect(scene.states()).toEqual(["begin pending"]);
  scene.answer(() => ({ kind: "sent" }));
  scene.clock.ms += ALERT_RETRY_MS_MAX;
  await scene.sendDue();
  expect(scene.states()).toEqual(["begin sent"]);
  expect(scene.attempts).toEqual([...Array(10).fill("retry"), "sent"]);
});

test("a message names its workspace and the screen of its item", async () => {
  const scene = startSender([alertWith([pending()])], [{ id: "r1" }]);
  await scene.sendDue();
  const [{ message }] = scene.sent as [(typeof scene.sent)[0]];
  expect(message).toMatchObject({
    ...{ phase: "begin", id: "a1-begin-r1", dedupKey: "pixelmill-a1" },
    title: "[Alert] Lag: Warehouse",
    text: "Warehouse lags\nname of w1",
    url: "https://console/#/destinations/d1",
    workspace: { id: "w1", name: "name of w1" },
  });
});

test("at most 20 notifications of a workspace are sent at the same time, and then the next", async () => {
  const receivers = Array.from({ length: 50 }, (_, n) => ({ id: `r${n}` }));
  const scene = startSender([alertWith(receivers.map(({ id }) => pending(id)))], receivers);
  const counts: number[] = [];
  let running = 0;
  scene.answer(async () => {
    running += 1;
    await Bun.sleep(1);
    counts.push(running);
    await Bun.sleep(1);
    running -= 1;
    return { kind: "sent" };
  });
  await Promise.all([scene.sendDue(), scene.sendDue()]);
  expect(Math.max(...counts)).toBe(20);
  expect(scene.sent.map(({ receiver }) => receiver.id!)).toEqual(receivers.map(({ id }) => id));
});

test("a notification that another evaluator has claimed is not sent", async () => {
  const alert = alertWith([pending("r1"), pending("r2")]);
  const scene = startSender([alert], [{ id: "r1" }, { id: "r2" }]);
  scene.lose(({ receiverId }) => {
    // The other evaluator sends it meanwhile.
    if (receiverId === "r2") alert.notifications[1]!.state = "sent";
    return receiverId === "r2";
  });
  await scene.sendDue();
  expect(scene.sent.map(({ receiver }) => receiver.id!)).toEqual(["r1"]);
});

test("a result that cannot be stored is stored later, and the notification is not sent again", async () => {
  const scene = startSender([alertWith([pending()])], [{ id: "r1" }]);
  scene.settleWith(() => Promise.reject(new Error("The disk is full")));
  await expect(scene.sendDue()).rejects.toThrow("full");
  await expect(scene.sendDue()).rejects.toThrow("full");
  expect(scene.states()).toEqual(["begin pending"]);
  scene.settleWith(async () => {});
  await scene.sendDue();
  expect([scene.sent.length, ...scene.states()]).toEqual([1, "begin sent"]);
});

test("an attempt that a stop cut off counts as neither sent nor failed, unless it was sent", async () => {
  for (const [result, states] of [
    [{ kind: "retry", reason: "cut" }, ["begin pending"]],
    [{ kind: "sent" }, ["begin sent"]],
  ] as [NotificationResult, string[]][]) {
    const scene = startSender([alertWith([pending()])], [{ id: "r1" }]);
    scene.answer(() => {
      scene.signals.closing.abort();
      scene.signals.cutting.abort();
      return result;
    });
    await scene.sendDue();
    expect(scene.states()).toEqual(states);
    expect(scene.attempts).toEqual(result.kind === "sent" ? ["sent"] : []);
    // A sender that closes begins nothing.
    await scene.sendDue();
    expect(scene.sent).toHaveLength(1);
  }
});

test("notifications are dropped when their receiver has gone, or did not get the beginning", async () => {
  const ended = (state: AlertNotification["state"]) => [
    { ...pending(), state },
    newNotification("r1", "end"),
  ];
  const noReceiver = "The receiver was removed or disabled";
  const noBeginning = "The receiver did not get the beginning";
  const table: [
    notifications: AlertNotification[],
    receiver: Partial<AlertReceiver>,
    reason: string | undefined,
  ][] = [
    [[pending()], { id: "r1" }, undefined],
    [[pending()], { id: "r2" }, noReceiver],
    [[pending()], { id: "r1", enabled: false }, noReceiver],
    [ended("sent"), { id: "r1" }, undefined],
    [ended("failed"), { id: "r1" }, noBeginning],
    [ended("dropped"), { id: "r1" }, noBeginning],
  ];
  for (const [notifications, receiver, reason] of table) {
    const scene = startSender([alertWith(notifications)], [receiver]);
    await scene.sendDue();
    expect(scene.dropped).toEqual(reason === undefined ? [] : [reason]);
    expect(scene.sent).toHaveLength(reason === undefined ? 1 : 0);
    expect(scene.states().at(-1)).toEndWith(reason === undefined ? "sent" : "dropped");
  }
});

test("an end waits for its beginning, of the same receiver", async () => {
  const notifications = [pending("r1"), pending("r2"), newNotification("r1", "end")];
  const scene = startSender([alertWith(notifications)], [{ id: "r1" }, { id: "r2" }]);
  scene.answer((id) => (id === "r1" ? { kind: "retry", reason: "x" } : { kind: "sent" }));
  await scene.sendDue();
  expect(scene.states()).toEqual(["begin pending", "begin sent", "end pending"]);
  scene.answer(() => ({ kind: "sent" }));
  scene.clock.ms += 5_000;
  await scene.sendDue();
  expect(scene.sent.map(({ receiver, message }) => `${receiver.id} ${message.phase}`)).toEqual([
    ...["r1 begin", "r2 begin", "r1 begin", "r1 end"],
  ]);
});

test("in quiet hours all waits, except the end of an incident in PagerDuty", async () => {
  const quietHours = { from: "22:00", to: "07:00", timeZone: "UTC" };
  const ended = (id: string) => [
    { ...pending(id), state: "sent" as const },
    newNotification(id, "end"),
  ];
  const alerts = [
    alertWith([...ended("hook"), ...ended("pager"), pending("later")]),
    alertWith([pending("hook")], { id: "a2", ruleId: "loud" }),
  ];
  const receivers = [
    { id: "hook" },
    { id: "pager", type: "pagerduty" as const },
    { id: "later", type: "pagerduty" as const },
  ];
  const scene = startSender(alerts, receivers, [{ id: "rule", quietHours }, { id: "loud" }]);
  scene.clock.now = Date.parse("2026-07-01T23:00:00Z");
  await scene.sendDue();
  const names = () => scene.sent.map(({ receiver, message }) => `${receiver.id} ${message.phase}`);
  expect(names()).toEqual(["pager end", "hook begin"]);
  scene.clock.now = Date.parse("2026-07-02T07:00:00Z");
  await scene.sendDue();
  expect(names().slice(2)).toEqual(["hook end", "later begin"]);
});

test("quiet hours begin with their first minute, end before their last, and may pass midnight", () => {
  const table: [from: string, to: string, quiet: string[], loud: string[]][] = [
    ["22:00", "07:00", ["22:00", "23:59", "00:00", "06:59"], ["21:59", "07:00", "12:00"]],
    ["12:00", "14:00", ["12:00", "13:59"], ["11:59", "14:00", "00:00"]],
    ["12:00", "12:00", [], ["11:59", "12:00", "12:01"]],
  ];
  for (const [from, to, quiet, loud] of table) {
    const isQuietAt = (time: string) => {
      // Two hours ahead of UTC.
      const now = Date.parse(`2026-07-01T${time}:30+02:00`);
      return isQuiet({ from, to, timeZone: "Europe/Berlin" }, now);
    };
    expect([from, quiet.filter((it) => !isQuietAt(it)), loud.filter(isQuietAt)]).toEqual([
      from,
      [],
      [],
    ]);
  }
  expect(["Europe/Berlin", "UTC", "Europe/Nowhere", ""].map(isTimeZone)).toEqual([
    ...[true, true, false, false],
  ]);
});

test("a mail goes to the addresses that have not got it", async () => {
  const partly = { ...pending("r1"), attempts: 1, accepted: ["a@x"] };
  const receiver = { id: "r1", type: "email" as const, to: ["a@x", "b@x"] };
  const some = startSender([alertWith([partly])], [receiver]);
  await some.sendDue();
  expect(some.sent.map(({ receiver }) => receiver.to!)).toEqual([["b@x"]]);
  const all = startSender([alertWith([{ ...partly, accepted: ["a@x", "b@x"] }])], [receiver]);
  await all.sendDue();
  expect([all.sent.length, ...all.states()]).toEqual([0, "begin sent"]);
});

test("a workspace sends at most its number an hour, and its tests count", async () => {
  const half = ALERT_NOTIFICATIONS_PER_HOUR_MAX / 2;
  const receivers = Array.from({ length: half + 5 }, (_, n) => ({ id: `r${n}` }));
  const scene = startSender([alertWith(receivers.map(({ id }) => pending(id)))], receivers);
  expect(scene.sender.takeFromBudget("w1")).toBe(true);
  await scene.sendDue();
  expect(scene.sent).toHaveLength(half - 1);
  expect([scene.sender.takeFromBudget("w1"), scene.sender.takeFromBudget("w2")]).toEqual([
    false,
    true,
  ]);
  scene.clock.ms += 3_600_000 / half;
  await scene.sendDue();
  expect(scene.sent).toHaveLength(half);
  await scene.sender.idle();
});

test("a receiver that always fails leaves room for the notifications of others", async () => {
  const alerts = Array.from({ length: ALERT_NOTIFICATIONS_PER_HOUR_MAX / 2 }, (_, n) =>
    alertWith([pending("broken")], { id: `a${n}` }),
  );
  const scene = startSender(alerts, [{ id: "broken" }, { id: "whole" }]);
  scene.answer((id) => (id === "broken" ? { kind: "retry", reason: "x" } : { kind: "sent" }));
  await scene.sendDue();
  alerts.push(alertWith([pending("whole")], { id: "new" }));
  scene.clock.ms += 60_000;
  await scene.sendDue();
  expect(scene.sent.at(-1)).toMatchObject({ receiver: { id: "whole" } });
});

test("receivers and rules are read once for all notifications that wait", async () => {
  const alerts = Array.from({ length: 50 }, (_, n) => alertWith([pending()], { id: `a${n}` }));
  const quietHours = { from: "00:00", to: "23:59", timeZone: "UTC" };
  const scene = startSender(alerts, [{ id: "r1" }], [{ id: "rule", quietHours }]);
  await scene.sendDue();
  expect([scene.sent.length, scene.lists()]).toEqual([0, 2]);
});

test("the notifications of an alert that ends are those that a receiver got or may have got", () => {
  const begun = (state: AlertNotification["state"], more = {}) => ({
    ...pending(),
    state,
    ...more,
  });
  const table: [before: AlertNotification, after: AlertNotification["state"], hasEnd: boolean][] = [
    [begun("pending"), "dropped", false],
    [begun("pending", { attempts: 1 }), "pending", true],
    [begun("pending", { attempts: 1, accepted: ["a@x"] }), "sent", true],
    [begun("sent", { attempts: 1 }), "sent", true],
    [begun("failed", { attempts: 20 }), "failed", false],
    [begun("dropped"), "dropped", false],
  ];
  for (const [before, state, hasEnd] of table) {
    const end = { receiverId: "r1", phase: "end", state: "pending", attempts: 0 } as const;
    expect(notificationsAtEnd([before])).toEqual([{ ...before, state }, ...(hasEnd ? [end] : [])]);
  }
});

test("a notification after an attempt has its reason and its accepted addresses, until it fails for good", () => {
  const tried = (attempts: number, more = {}) => ({ ...pending(), attempts, ...more });
  const retry = (accepted?: string[]): NotificationResult => ({
    ...{ kind: "retry", reason: "x" },
    ...(accepted && { accepted }),
  });
  const last = ALERT_ATTEMPTS_MAX;
  const table: [before: AlertNotification, result: NotificationResult, after: object][] = [
    [tried(2, { reason: "y", accepted: ["a"] }), { kind: "sent" }, { ...tried(2), state: "sent" }],
    [tried(0), { kind: "dropped", reason: "x" }, { ...tried(0), state: "dropped", reason: "x" }],
    [tried(last - 1), retry(), { ...tried(last - 1), reason: "x" }],
    [tried(last), retry(), { ...tried(last), state: "failed", reason: "x" }],
    [tried(1), retry(["a"]), { ...tried(1), reason: "x", accepted: ["a"] }],
    [
      tried(1, { accepted: ["a"] }),
      retry(["b"]),
      { ...tried(1), reason: "x", accepted: ["a", "b"] },
    ],
    [
      tried(last, { accepted: ["a"] }),
      retry(),
      { ...tried(last), state: "sent", reason: "x", accepted: ["a"] },
    ],
  ];
  for (const [before, result, after] of table)
    expect(afterAttempt(before, result)).toEqual(after as AlertNotification);
});

test("the lease of the evaluator is taken when it is free, or unrenewed for four checks", async () => {
  let row: LeaseRow | undefined;
  const alerts = {
    lease: () => row,
    async takeLease(holder: string) {
      row = { holder, renewals: 0 };
    },
    async renewLease() {
      row = { ...row!, renewals: row!.renewals + 1 };
    },
    async releaseLease() {
      row = undefined;
    },
  } as unknown as Alerts;
  const [one, two] = [new EvaluatorLease(alerts, true), new EvaluatorLease(alerts, true)];
  await one.renewOrTake();
  expect([one.isHeld, two.isHeld]).toEqual([true, false]);
  // A holder that renews it keeps it.
  for (let check = 0; check < 6; check += 1) {
    await one.renewOrTake();
    await two.renewOrTake();
  }
  expect([one.isHeld, row?.renewals]).toEqual([true, 6]);
  for (let check = 0; check < 3; check += 1) await two.renewOrTake();
  expect(one.isHeld).toBe(true);
  await one.renewOrTake();
  for (let check = 0; check < 4; check += 1) await two.renewOrTake();
  expect(one.isHeld).toBe(true);
  await two.renewOrTake();
  expect([one.isHeld, two.isHeld]).toEqual([false, true]);
  await one.release();
  expect(two.isHeld).toBe(true);
  await two.release();
  expect(row).toBeUndefined();
  // A process that shares its catalog with none takes it at once, and has nothing to renew.
  row = { holder: "before the restart", renewals: 9 };
  const alone = new EvaluatorLease(alerts, false);
  await alone.renewOrTake();
  await alone.renewOrTake();
  expect([alone.isHeld, row.renewals]).toEqual([true, 0]);
});
