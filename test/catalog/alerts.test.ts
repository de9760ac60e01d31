import { expect, test } from "bun:test";
import type { AlertRule, AlertRuleInput, AlertSubject } from "../../src/catalog/alerts/model.ts";
import {
  ALERT_ATTEMPTS_MAX,
  ALERT_RECEIVERS_OF_WORKSPACE_MAX,
  ALERT_RULES_OF_WORKSPACE_MAX,
  ALERTS_KEPT_OF_WORKSPACE_MAX,
  ALERTS_OPEN_OF_WORKSPACE_MAX,
  PAGE_ITEMS_MAX,
} from "../../src/settings/limits.ts";
import { freshWorkspace } from "./_setup.ts";

const HOLDER = "node a";

const ruleInput: AlertRuleInput = {
  name: "Failing",
  kind: "destination-failing",
  enabled: true,
  forSeconds: 60,
  clearSeconds: 60,
  subjectIds: [],
  receiverIds: [],
};
const receiverInput = { name: "Team", type: "webhook", enabled: true, url: "https://a.example" };

const subject = (id: string): AlertSubject => ({ type: "destination", id, name: `The ${id}` });

/** A workspace with one rule and one receiver, whose alerts this process evaluates. */
async function scene() {
  const { catalog, workspaceId } = await freshWorkspace();
  const { alerts } = catalog;
  const createReceiver = (more = {}) =>
    alerts.receivers.create(workspaceId, { ...receiverInput, ...more } as never, []);
  const receiver = await createReceiver();
  const rule = await alerts.rules.create(workspaceId, ruleInput);
  await alerts.takeLease(HOLDER, undefined);
  const record = (change: { begun?: string[]; ended?: string[] }, of: AlertRule = rule) =>
    alerts.record(HOLDER, workspaceId, {
      begun: (change.begun ?? []).map((id) => ({
        ruleId: of.id,
        subject: subject(id),
        message: `${id} fails`,
      })),
      ended: change.ended ?? [],
      marks: [],
    });
  const keyOf = (alertId: string, phase: "begin" | "end" = "begin", of = receiver) => ({
    ...{ alertId, receiverId: of.id, phase },
  });
  const notifications = () => alerts.list(workspaceId, 1).items[0]!.notifications;
  return {
    ...{ catalog, alerts, workspaceId, receiver, rule },
    ...{ createReceiver, record, keyOf, notifications },
  };
}

test("an alert begins once for a subject, tells each receiver, and may begin again when it has ended", async () => {
  const { alerts, workspaceId, rule, receiver, record } = await scene();
  const before = Date.now();
  await record({ begun: ["d1"] });
  await record({ begun: ["d1", "d2"] });
  const open = alerts.open(workspaceId);
  expect(open).toMatchObject([
    {
      ...{ workspaceId, ruleId: rule.id, ruleName: "Failing", kind: "destination-failing" },
      subject: subject("d1"),
      message: "d1 fails",
      notifications: [{ receiverId: receiver.id, phase: "begin", state: "pending", attempts: 0 }],
    },
    { subject: subject("d2") },
  ]);
  expect(open[0]!.createdAt).toBeGreaterThanOrEqual(before);
  await record({ ended: [open[0]!.id] });
  await record({ begun: ["d1"] });
  expect(alerts.open(workspaceId).map((it) => it.subject.id)).toEqual(["d2", "d1"]);
  expect(alerts.list(workspaceId, 1).total).toBe(3);
  expect(alerts.list(workspaceId, 1, "open").total).toBe(2);
  const ended = alerts.list(workspaceId, 1, "ended").items;
  expect(ended.map(({ id }) => id)).toEqual([open[0]!.id]);
  expect(ended[0]!.endedAt).toBeGreaterThanOrEqual(open[0]!.createdAt);
  // Newest first.
  expect(alerts.list(workspaceId, 1).items.at(-1)!.id).toBe(open[0]!.id);
});

test("a list has the open alerts first, on all of its pages, then those that have ended", async () => {
  const { alerts, workspaceId, record } = await scene();
  for (const id of ["d1", "d2", "d3", "d4"]) await record({ begun: [id] });
  const ids = alerts.open(workspaceId).map(({ id }) => id);
  await record({ ended: [ids[3]!, ids[1]!] });
  const listed = alerts.list(workspaceId, 1);
  expect(listed.items.map(({ subject }) => subject.id)).toEqual(["d3", "d1", "d4", "d2"]);
  expect(listed.total).toBe(4);
  for (const state of ["open", "ended"] as const) {
    const { items, total } = alerts.list(workspaceId, 1, state);
    expect(items.map(({ endedAt }) => endedAt === undefined)).toEqual(
      items.map(() => state === "open"),
    );
    expect(total).toBe(2);
  }
});

test("an alert that has ended stays as it is", async () => {
  const { alerts, workspaceId, record } = await scene();
  await record({ begun: ["d1"] });
  const { id } = alerts.open(workspaceId)[0]!;
  await record({ ended: [id] });
  const before = alerts.list(workspaceId, 1).items;
  await record({ ended: [id, "unknown"] });
  expect(alerts.list(workspaceId, 1).items).toEqual(before);
});

test("no alert begins or ends for a rule or in the name of another workspace", async () => {
  const { alerts, workspaceId, rule, record } = await scene();
  const other = await scene();
  await record({ begun: ["d1"] }, other.rule);
  expect(alerts.list(workspaceId, 1).total).toBe(0);
  await other.record({ begun: ["d1"] });
  await alerts.rules.update(workspaceId, rule.id, (it) => ({ ...it, enabled: false }));
  await record({ begun: ["d1"] });
  expect(alerts.list(workspaceId, 1).total).toBe(0);
  await record({ ended: other.alerts.open(other.workspaceId).map(({ id }) => id) });
  expect(other.alerts.open(other.workspaceId)).toHaveLength(1);
});

test("receivers that are off, and those that a rule does not name, get no notification", async () => {
  const { alerts, workspaceId, rule, receiver, createReceiver, record, notifications } =
    await scene();
  const off = await createReceiver({ enabled: false });
  const third = await createReceiver();
  const told = () => notifications().map(({ receiverId }) => receiverId);
  await record({ begun: ["d1"] });
  expect(told().sort()).toEqual([receiver.id, third.id].sort());
  const receiverIds = [off.id, third.id];
  await alerts.rules.update(workspaceId, rule.id, (it) => ({ ...it, receiverIds }));
  await record({ begun: ["d2"] });
  expect(told()).toEqual([third.id]);
});

test("a notification is claimed, retried, and sent once", async () => {
  const { alerts, workspaceId, receiver, record, keyOf, notifications } = await scene();
  await record({ begun: ["d1"] });
  const [alert] = alerts.pending(workspaceId);
  const key = keyOf(alert!.id);
  const strangers = [keyOf(alert!.id, "end"), keyOf("unknown"), { ...key, receiverId: "unknown" }];
  expect(await alerts.claim(HOLDER, [key, ...strangers])).toEqual([key]);
  expect(notifications()).toMatchObject([{ state: "pending", attempts: 1, claim: HOLDER }]);
  const retry = { kind: "retry", reason: "No answer" } as const;
  await alerts.settle(HOLDER, [{ key, result: retry }]);
  expect(notifications()).toMatchObject([{ state: "pending", reason: "No answer" }]);
  const since = alerts.receivers.state(receiver.id).failingSince!;
  expect(alerts.receivers.state(receiver.id)).toEqual({ failingSince: since, reason: "No answer" });
  await alerts.settle(HOLDER, [{ key, result: { kind: "sent" } }]);
  expect(notifications()).toEqual([
    { receiverId: receiver.id, phase: "begin", state: "sent", attempts: 1, claim: HOLDER },
  ]);
  const sentAt = alerts.receivers.state(receiver.id).sentAt!;
  expect(sentAt).toBeGreaterThanOrEqual(since);
  expect(alerts.receivers.state(receiver.id)).toEqual({ sentAt });
  expect(alerts.pending(workspaceId)).toEqual([]);
  expect(await alerts.claim(HOLDER, [key])).toEqual([]);
  // A later failure keeps the time of the last success and of the first failure.
  await alerts.receivers.note(receiver.id, retry);
  const failing = alerts.receivers.state(receiver.id);
  await Bun.sleep(2);
  await alerts.receivers.note(receiver.id, { kind: "retry", reason: "Still none" });
  expect(alerts.receivers.state(receiver.id)).toEqual({ ...failing, sentAt, reason: "Still none" });
});

test("a notification fails after the last attempt", async () => {
  const { alerts, workspaceId, record, keyOf, notifications } = await scene();
  await record({ begun: ["d1"] });
  const key = keyOf(alerts.pending(workspaceId)[0]!.id);
  const result = { kind: "retry", reason: "No answer" } as const;
  for (let attempt = 1; attempt <= ALERT_ATTEMPTS_MAX; attempt++) {
    expect(notifications()[0]!.state).toBe("pending");
    await alerts.claim(HOLDER, [key]);
    await alerts.settle(HOLDER, [{ key, result }]);
  }
  expect(notifications()).toMatchObject([{ state: "failed", reason: "No answer" }]);
});

test("a dropped notification says nothing about its receiver, and a removed receiver has no state", async () => {
  const { alerts, workspaceId, receiver, record, keyOf, notifications } = await scene();
  await record({ begun: ["d1"] });
  const key = keyOf(alerts.pending(workspaceId)[0]!.id);
  await alerts.settle(HOLDER, [{ key, result: { kind: "dropped", reason: "Removed" } }]);
  expect(notifications()).toMatchObject([{ state: "dropped", reason: "Removed" }]);
  expect(alerts.receivers.state(receiver.id)).toEqual({});
  await alerts.receivers.note(receiver.id, { kind: "sent" });
  await alerts.receivers.remove(workspaceId, receiver.id);
  expect(alerts.receivers.state(receiver.id)).toEqual({});
  await alerts.receivers.note(receiver.id, { kind: "sent" });
  expect(alerts.receivers.state(receiver.id)).toEqual({});
});

test("receivers that may have got the beginning of an alert get its end", async () => {
  const { alerts, workspaceId, receiver, createReceiver, record, keyOf, notifications } =
    await scene();
  const [tried, silent, failed] = [
    await createReceiver(),
    await createReceiver(),
    await createReceiver(),
  ];
  await record({ begun: ["d1"] });
  const { id } = alerts.pending(workspaceId)[0]!;
  const keys = [receiver, tried, failed].map((of) => keyOf(id, "begin", of));
  await alerts.claim(HOLDER, keys);
  await alerts.settle(HOLDER, [{ key: keys[0]!, result: { kind: "sent" } }]);
  for (let attempt = 1; attempt < ALERT_ATTEMPTS_MAX; attempt++) {
    await alerts.claim(HOLDER, [keys[2]!]);
  }
  const result = { kind: "retry", reason: "No" } as const;
  await alerts.settle(HOLDER, [{ key: keys[2]!, result }]);
  await record({ ended: [id] });
  const found = notifications().map(({ receiverId, phase, state }) => [receiverId, phase, state]);
  expect(found.sort()).toEqual(
    [
      [receiver.id, "begin", "sent"],
      [tried.id, "begin", "pending"],
      [silent.id, "begin", "dropped"],
      [failed.id, "begin", "failed"],
      [receiver.id, "end", "pending"],
      [tried.id, "end", "pending"],
    ].sort(),
  );
  expect(notifications().filter(({ phase }) => phase === "end")).toMatchObject([
    { attempts: 0 },
    { attempts: 0 },
  ]);
});

test("one process at a time holds the lease, and alerts change for the holder alone", async () => {
  const { alerts, workspaceId, record, keyOf } = await scene();
  await record({ begun: ["d1"] });
  const key = keyOf(alerts.pending(workspaceId)[0]!.id);
  await alerts.renewLease(HOLDER);
  await alerts.renewLease("node b");
  expect(alerts.lease()).toEqual({ holder: HOLDER, renewals: 1 });
  await alerts.takeLease("node b", undefined);
  await alerts.takeLease("node b", { holder: HOLDER, renewals: 0 });
  await alerts.takeLease("node b", { holder: "node c", renewals: 1 });
  await alerts.releaseLease("node b");
  expect(alerts.lease()?.holder).toBe(HOLDER);
  await alerts.takeLease("node b", { holder: HOLDER, renewals: 1 });
  expect(alerts.lease()).toEqual({ holder: "node b", renewals: 0 });
  const refusal = "Another node evaluates the alert rules now";
  await expect(record({ begun: ["d2"] })).rejects.toThrow(refusal);
  await expect(alerts.claim(HOLDER, [key])).rejects.toThrow(refusal);
  const results = [{ key, result: { kind: "sent" } as const }];
  await expect(alerts.settle(HOLDER, results)).rejects.toThrow(refusal);
  await alerts.releaseLease("node b");
  expect(alerts.lease()).toBeUndefined();
});

test("the first receiver of a workspace brings rules, unless it has some", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { rules, receivers } = catalog.alerts;
  const create = () => receivers.create(workspaceId, receiverInput as never, [ruleInput]);
  const first = await create();
  expect(rules.list(workspaceId, 1).items).toMatchObject([ruleInput]);
  await create();
  expect(rules.list(workspaceId, 1).total).toBe(1);
  for (const { id } of rules.list(workspaceId, 1).items) await rules.remove(workspaceId, id);
  for (const { id } of receivers.list(workspaceId, 1).items) {
    await receivers.remove(workspaceId, id);
  }
  await rules.create(workspaceId, { ...ruleInput, name: "Own" });
  await create();
  expect(rules.list(workspaceId, 1).items).toMatchObject([{ name: "Own" }]);
  expect(() => receivers.get(workspaceId, first.id)).toThrow("not found");
});

test("a changed rule or receiver keeps its id and time of creation, and names receivers that exist", async () => {
  const { alerts, workspaceId, rule, receiver } = await scene();
  const after = await alerts.rules.update(workspaceId, rule.id, (it) => {
    expect(it).toStrictEqual(ruleInput);
    return { ...it, name: "New" };
  });
  expect(after).toMatchObject({ id: rule.id, createdAt: rule.createdAt, name: "New" });
  expect(after.updatedAt).toBeGreaterThan(rule.updatedAt);
  expect(alerts.rules.get(workspaceId, rule.id)).toEqual(after);
  const next = await alerts.receivers.update(workspaceId, receiver.id, (it) => ({
    ...it,
    name: "New",
  }));
  expect(alerts.receivers.get(workspaceId, receiver.id)).toEqual(next);
  expect(next).toMatchObject({ id: receiver.id, createdAt: receiver.createdAt, name: "New" });
  const unknown = { ...ruleInput, receiverIds: ["unknown"] };
  await expect(alerts.rules.create(workspaceId, unknown)).rejects.toThrow("not found");
  const update = alerts.rules.update(workspaceId, rule.id, () => unknown);
  await expect(update).rejects.toThrow("not found");
});

test("a rule that loses its last receiver is switched off, rather than telling all", async () => {
  const { alerts, workspaceId, rule, receiver, createReceiver } = await scene();
  const other = await createReceiver();
  const create = (receiverIds: string[]) =>
    alerts.rules.create(workspaceId, { ...ruleInput, receiverIds });
  const [both, one] = [await create([receiver.id, other.id]), await create([receiver.id])];
  await alerts.receivers.remove(workspaceId, receiver.id);
  const ruleOf = ({ id }: AlertRule) => alerts.rules.get(workspaceId, id);
  expect(ruleOf(both)).toMatchObject({ receiverIds: [other.id], enabled: true });
  expect(ruleOf(one)).toMatchObject({ receiverIds: [], enabled: false });
  expect(ruleOf(rule)).toEqual(rule);
});

test("the marks of a rule are set, removed, and gone with the rule", async () => {
  const { alerts, workspaceId, rule } = await scene();
  const other = await alerts.rules.create(workspaceId, ruleInput);
  const set = (ruleId: string, subjectId: string, value?: number) =>
    alerts.record(HOLDER, workspaceId, {
      ...{ begun: [], ended: [] },
      marks: [{ ruleId, subjectId, ...(value !== undefined && { value }) }],
    });
  await set(rule.id, "d1", 5);
  await set(rule.id, "d2", 0);
  await set(other.id, "d1", 7);
  await set("unknown", "d1", 1);
  expect([...alerts.marks(workspaceId, rule.id)]).toEqual([
    ["d1", 5],
    ["d2", 0],
  ]);
  expect(alerts.marks(workspaceId, "unknown").size).toBe(0);
  await set(rule.id, "d1");
  expect([...alerts.marks(workspaceId, rule.id)]).toEqual([["d2", 0]]);
  await alerts.rules.remove(workspaceId, rule.id);
  expect(alerts.marks(workspaceId, rule.id).size).toBe(0);
  expect(alerts.marks(workspaceId, other.id).size).toBe(1);
});

test("workspaces with receivers, open alerts or unsent notifications are evaluated", async () => {
  const { alerts, workspaceId, receiver, record } = await scene();
  const none = await freshWorkspace();
  expect(none.catalog.alerts.workspaces()).toEqual([]);
  expect(alerts.workspaces()).toEqual([workspaceId]);
  await record({ begun: ["d1"] });
  await alerts.receivers.remove(workspaceId, receiver.id);
  expect(alerts.workspaces()).toEqual([workspaceId]);
  const { id } = alerts.open(workspaceId)[0]!;
  await record({ ended: [id] });
  // The beginning was dropped: no attempt was made to send it.
  expect(alerts.workspaces()).toEqual([]);
});

test("the number of rules, receivers, open alerts and kept alerts of a workspace is bounded", async () => {
  const { alerts, workspaceId, rule, record, createReceiver } = await scene();
  for (let n = 1; n < ALERT_RECEIVERS_OF_WORKSPACE_MAX; n++) await createReceiver();
  await expect(createReceiver()).rejects.toThrow(
    `Expected at most ${ALERT_RECEIVERS_OF_WORKSPACE_MAX} receivers for alerts, got one more`,
  );
  for (let n = 1; n < ALERT_RULES_OF_WORKSPACE_MAX; n++) {
    await alerts.rules.create(workspaceId, ruleInput);
  }
  await expect(alerts.rules.create(workspaceId, ruleInput)).rejects.toThrow(
    `Expected at most ${ALERT_RULES_OF_WORKSPACE_MAX} rules for alerts, got one more`,
  );
  const subjects = Array.from({ length: ALERTS_OPEN_OF_WORKSPACE_MAX + 1 }, (_, n) => `d${n}`);
  await record({ begun: subjects.slice(0, 1) });
  await record({ begun: subjects.slice(1) });
  expect(alerts.open(workspaceId)).toHaveLength(ALERTS_OPEN_OF_WORKSPACE_MAX);
  const rounds = ALERTS_KEPT_OF_WORKSPACE_MAX / ALERTS_OPEN_OF_WORKSPACE_MAX;
  for (let round = 0; round < rounds; round++) {
    await record({ ended: alerts.open(workspaceId).map(({ id }) => id) });
    await record({ begun: subjects.slice(1) });
  }
  const newest = alerts.open(workspaceId).at(-1)!.id;
  expect(alerts.list(workspaceId, 1).total).toBe(ALERTS_KEPT_OF_WORKSPACE_MAX);
  expect(alerts.list(workspaceId, 1).items).toHaveLength(PAGE_ITEMS_MAX);
  expect(alerts.list(workspaceId, 1).items[0]!.id).toBe(newest);
  const [, second] = [1, 2].map((page) => alerts.list(workspaceId, page).items);
  expect(second![0]!.id < alerts.list(workspaceId, 1).items.at(-1)!.id).toBe(true);
  expect(rule.enabled).toBe(true);
});
