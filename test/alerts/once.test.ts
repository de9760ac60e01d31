import { expect, onTestFinished, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryLog } from "../store/memory-log.ts";
import {
  quietFacts,
  type SceneOptions,
  startNode,
  startReceiver,
  type TestReceiver,
  until,
} from "./_scene.ts";

/** Alerts of a cluster and over restarts: each notification is sent once. */

type Node = Awaited<ReturnType<typeof startNode>>;

function receiverOfTest(): TestReceiver {
  const receiver = startReceiver();
  onTestFinished(() => receiver.stop());
  return receiver;
}

async function directoryOfTest(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "pixelmill-alerts-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Creates a destination, a rule about lag and a receiver. */
async function createRule({ call }: Node, url: string, rule = {}): Promise<void> {
  await call("POST", "/v2/destinations", {
    name: "Warehouse",
    type: "webhook",
    config: { webhookUrl: "http://127.0.0.1:9/" },
  });
  const body = { kind: "lag", threshold: 60, forSeconds: 10, clearSeconds: 10, ...rule };
  await call("POST", "/v2/alerts/rules", body);
  await call("POST", "/v2/alerts/receivers", { name: "On call", type: "webhook", url });
}

const lagging = { lagSeconds: 90 };
const types = (receiver: TestReceiver) => receiver.got.map(({ body }) => body.type);
const states = async ({ call }: Node) =>
  (await call("GET", "/v2/alerts")).alerts[0]?.notifications.map(
    ({ phase, state }: { phase: string; state: string }) => `${phase} ${state}`,
  );

async function startNodes(count: number, options: SceneOptions = {}) {
  const log = new MemoryLog({ delayMs: () => Math.random() });
  const facts = quietFacts();
  const others = {
    ask: async () => ({ answers: new Map(), missing: [] }),
    answerWith() {},
  };
  const nodes: Node[] = [];
  for (let number = 0; number < count; number += 1) {
    const more = { others: { node: `node-${number}`, ...others } };
    nodes.push(await startNode({ order: log, facts, more, ...options }));
  }
  // All nodes have the workspace of the first.
  return { nodes, facts, log };
}

test("the end of an alert is sent after a restart, and its beginning not again", async () => {
  const directory = await directoryOfTest();
  const receiver = receiverOfTest();
  const facts = quietFacts();
  const before = await startNode({ directory, facts });
  await createRule(before, receiver.url);
  facts.lane = lagging;
  await before.pass(30);
  await until(async () => (await states(before))?.join() === "begin sent");
  await before.api.stop();

  const after = await startNode({ directory, facts });
  await after.pass(30);
  expect(types(receiver)).toEqual(["alert.began"]);
  facts.lane = {};
  await after.pass(30);
  await until(async () => (await states(after)).join() === "begin sent,end sent");
  expect(types(receiver)).toEqual(["alert.began", "alert.ended"]);
  expect(receiver.got[0]!.body.dedupKey).toBe(receiver.got[1]!.body.dedupKey);
  await after.api.stop();
});

test("a notification that a stopped server was sending is sent again, with the same key", async () => {
  const directory = await directoryOfTest();
  const receiver = receiverOfTest();
  receiver.answer(() => new Promise(() => {}));
  const facts = quietFacts();
  const before = await startNode({ directory, facts });
  await createRule(before, receiver.url);
  facts.lane = lagging;
  await before.pass(30);
  await until(() => receiver.got.length === 1);
  await before.api.stop();

  receiver.answer(() => new Response());
  const after = await startNode({ directory, facts });
  await after.pass(10);
  await until(async () => (await states(after)).join() === "begin sent");
  const keys = receiver.got.map(({ headers }) => headers.get("idempotency-key"));
  expect(keys.length).toBe(2);
  expect(keys[0]).toBe(keys[1]);
  await after.api.stop();
});

test("two nodes that evaluate at once send each notification once", async () => {
  const receiver = receiverOfTest();
  const { nodes, facts } = await startNodes(2);
  await createRule(nodes[0]!, receiver.url);
  for (let round = 1; round <= 3; round += 1) {
    facts.lane = lagging;
    await Promise.all(nodes.map((node) => node.pass(40)));
    await until(() => receiver.got.length === 2 * round - 1);
    facts.lane = {};
    await Promise.all(nodes.map((node) => node.pass(40)));
    await until(() => receiver.got.length === 2 * round);
  }
  expect(types(receiver)).toEqual(Array(3).fill(["alert.began", "alert.ended"]).flat());
  expect(await states(nodes[1]!)).toEqual(["begin sent", "end sent"]);
  for (const node of nodes) await node.api.stop();
});

test("another node takes over from one that left, or that no longer renews its lease", async () => {
  const receiver = receiverOfTest();
  const { nodes, facts } = await startNodes(3);
  const [first, second, third] = nodes as [Node, Node, Node];
  await createRule(first, receiver.url);
  await first.pass(10);
  facts.lane = lagging;
  await first.pass(30);
  await until(() => receiver.got.length === 1);
  // The first leaves; the second takes over at once.
  await first.api.stop();
  facts.lane = {};
  await second.pass(30);
  await until(() => receiver.got.length === 2);
  // The second hangs; the third takes over after some checks, and the second then does nothing.
  facts.lane = lagging;
  await third.pass(80);
  await until(() => receiver.got.length === 3);
  facts.lane = {};
  // They check at the same pace, so that the second sees each renewal by the third.
  for (let step = 0; step < 6; step += 1) await Promise.all([second.pass(10), third.pass(10)]);
  await until(() => receiver.got.length === 4);
  expect(types(receiver)).toEqual(Array(2).fill(["alert.began", "alert.ended"]).flat());
  await second.api.stop();
  await third.api.stop();
});

test("a replaced evaluator can neither record alerts nor claim notifications", async () => {
  const { catalog, workspaceId, stop } = (await startNode()).api;
  await catalog.alerts.takeLease("old", undefined);
  await catalog.alerts.takeLease("new", catalog.alerts.lease());
  const change = { begun: [], ended: [], marks: [] };
  await expect(catalog.alerts.record("old", workspaceId, change)).rejects.toThrow("Another node");
  await expect(catalog.alerts.claim("old", [])).rejects.toThrow("Another node");
  await expect(catalog.alerts.settle("old", [])).rejects.toThrow("Another node");
  await catalog.alerts.record("new", workspaceId, change);
  await stop();
});

test("a node that gets the lease again does not count what it measured before it lost the lease", async () => {
  const receiver = receiverOfTest();
  const { nodes, facts } = await startNodes(1);
  const node = nodes[0]!;
  await createRule(node, receiver.url, { forSeconds: 40 });
  const { alerts } = node.api.catalog;
  facts.lane = lagging;
  await node.pass(30);
  await alerts.takeLease("other", alerts.lease());
  await node.pass(10);
  await alerts.releaseLease("other");
  await node.pass(30);
  expect((await node.call("GET", "/v2/alerts")).alerts).toEqual([]);
  await node.pass(20);
  await until(() => receiver.got.length === 1);
  await node.api.stop();
});

test("a hanging process does not count its pause as time in which a condition held", async () => {
  const receiver = receiverOfTest();
  const clock = { ms: 0 };
  const facts = quietFacts();
  const node = await startNode({ facts, alertClock: { elapsed: () => clock.ms, now: Date.now } });
  await createRule(node, receiver.url, { forSeconds: 120 });
  facts.lane = lagging;
  await node.api.evaluateAlerts();
  clock.ms += 3_600_000;
  await node.api.evaluateAlerts();
  expect((await node.call("GET", "/v2/alerts")).alerts).toEqual([]);
  await node.api.stop();
});

test("a beginning waits for the end of the quiet hours, and is dropped if the alert ends before", async () => {
  const receiver = receiverOfTest();
  const pager = receiverOfTest();
  let now = Date.parse("2026-07-01T20:30:00Z"); // 22:30 in Berlin
  const facts = quietFacts();
  const node = await startNode({ facts, now: () => now });
  const quietHours = { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" };
  await createRule(node, receiver.url, { quietHours });
  facts.lane = lagging;
  await node.pass(30);
  facts.lane = {};
  await node.pass(30);
  expect(await states(node)).toEqual(["begin dropped"]);

  facts.lane = lagging;
  await node.pass(30);
  expect(await states(node)).toEqual(["begin pending"]);
  expect(receiver.got).toEqual([]);
  now = Date.parse("2026-07-02T05:00:00Z"); // 7:00
  await node.pass(10);
  await until(async () => (await states(node)).join() === "begin sent");

  // At night, the end waits; PagerDuty, which would escalate, gets it at once.
  const routingKey = "key";
  const body = { name: "Pager", type: "pagerduty", routingKey, url: pager.url };
  await node.call("POST", "/v2/alerts/receivers", body);
  facts.lane = {};
  await node.pass(30);
  await until(() => receiver.got.length === 2);
  facts.lane = lagging;
  await node.pass(30);
  await until(() => receiver.got.length === 3 && pager.got.length === 1);
  now = Date.parse("2026-07-02T21:00:00Z");
  facts.lane = {};
  await node.pass(30);
  await until(() => pager.got.length === 2);
  expect(receiver.got.length).toBe(3);
  expect(pager.got.map(({ body }) => body.event_action)).toEqual(["trigger", "resolve"]);
  await node.api.stop();
});
