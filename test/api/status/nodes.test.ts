import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { PeerNodes } from "../../../src/api/deps.ts";
import { routes } from "../../../src/api/route-table.ts";
import { createNodeRpc } from "../../../src/cluster/node-bus/node-rpc.ts";
import { STATUS_QUESTIONS_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";
import { exchanges } from "../../cluster/memory-bus.ts";
import { MemoryLog } from "../../store/memory-log.ts";
import { exampleOf, makeThings, sendExample } from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(300_000);

describe("APIs of three nodes", () => {
  const log = new MemoryLog({ delayMs: () => Math.random() * 5 });
  let nodes: [TestApi, TestApi, TestApi];
  beforeAll(async () => {
    nodes = await Promise.all([
      startApi({}, { order: log }),
      startApi({}, { order: log }),
      startApi({}, { order: log }),
    ]);
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));

  /** One workspace on each node, whichever node made it. */
  const asked = (node: TestApi, method: string, path: string, body?: unknown) =>
    node.send(method, path, { token: nodes[0].token, ...(body !== undefined && { body }) });

  test("answer no older state than any of them answered before", async () => {
    const [a, b, c] = nodes;
    for (let round = 0; round < 20; round++) {
      const name = `S ${round}`;
      const made = (await asked(a, "POST", "/v2/sources", { name })).body.source;
      expect((await asked(b, "GET", `/v2/sources/${made.id}`)).body.source.name).toBe(name);
      await asked(c, "DELETE", `/v2/sources/${made.id}`);
      expect((await asked(a, "GET", `/v2/sources/${made.id}`)).status).toBe(404);
    }
  });

  test("accept a token once it is created, and refuse it once it is revoked", async () => {
    const [a, b, c] = nodes;
    for (let round = 0; round < 10; round++) {
      const wanted = { name: "T", permissions: ["workspace:admin"] };
      const { status, body } = await asked(a, "POST", "/v2/tokens", wanted);
      const { id, secret } = body.token;
      expect(status).toBe(201);
      const listed = () => b.send("GET", "/v2/sources", { token: secret });
      expect((await listed()).status).toBe(200);
      await asked(c, "DELETE", `/v2/tokens/${id}`);
      expect((await listed()).status).toBe(401);
    }
  });

  test("publish only one of two libraries with the same importName", async () => {
    const library = { name: "Same", code: "export const a = 1", language: "javascript" };
    const answers = await Promise.all(
      nodes.map((node) => asked(node, "POST", "/libraries?publish=true", library)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });

  test("answer 503 while the changes of other nodes cannot be read, except for health", async () => {
    log.away = true;
    expect((await asked(nodes[1], "GET", "/v2/sources")).status).toBe(503);
    expect((await asked(nodes[1], "POST", "/v2/sources", { name: "S" })).status).toBe(503);
    expect((await nodes[1].send("GET", "/health")).status).toBe(200);
    log.away = false;
    expect((await asked(nodes[1], "GET", "/v2/sources")).status).toBe(200);
  });
});

describe("the state of lanes and guests", () => {
  const log = new MemoryLog({ delayMs: () => 1 });
  const suspension = (transformationVersionId: string, until: number) => ({
    ...{ transformationVersionId, name: "Bad", until, reason: "Error: no" },
  });
  const suspended = [[suspension("a", 1_000), suspension("b", 5_000)], [suspension("a", 3_000)]];
  const expected = ["one", "two"];
  let nodes: TestApi[] = [];
  beforeAll(async () => {
    const { all } = exchanges(2);
    nodes = await Promise.all(
      all.map((bus, at) => {
        const others = createNodeRpc({
          ...{ bus, node: expected[at]!, expected: () => expected, answerMsMax: 300_000 },
        });
        return startApi({ others, suspensions: () => suspended[at]! }, { order: log });
      }),
    );
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));

  const asked = async (at: number, path: string) =>
    (await nodes[at]!.send("GET", path, { token: nodes[0]!.token })).body;

  test("is merged from all nodes, whichever node answers", async () => {
    nodes[1]!.readiness.checks.log = { ok: false, message: "The disk is full" };
    nodes[0]!.readiness.warnings.push("Something is odd");
    for (const at of [0, 1]) {
      const { suspensions, paging } = await asked(at, "/v2/suspensions");
      const found = suspensions.map((it: { transformationVersionId: string; until: string }) => [
        it.transformationVersionId,
        Date.parse(it.until),
      ]);
      expect(found.sort()).toEqual([
        ["a", 3_000],
        ["b", 5_000],
      ]);
      expect(paging.total).toBe(2);
      const { problems, missingNodes } = await asked(at, "/v2/overview");
      expect(problems).toEqual([
        { kind: "not-ready", message: "two: log: The disk is full" },
        { kind: "warning", message: "one: Something is odd" },
      ]);
      expect(missingNodes).toBeUndefined();
    }
  });
});

test("the cluster answers the problems of its nodes, partitions without a node and mixed versions", async () => {
  const node = (id: string, version: string, partitions: number[]) => ({
    ...{ id, version, partitions, controlPlaneUrl: "http://10.0.0.1:8081" },
  });
  const health = (troubles: string[]) => ({
    ...{ troubles, warnings: ["Broker b does not answer; no copies"] },
    running: [],
  });
  let members: ReturnType<typeof node>[] | undefined = [
    ...[node("one", "1.0.0", [0]), node("two", "1.1.0", [1]), node("three", "1.0.0", [])],
  ];
  const others: PeerNodes = {
    node: "one",
    ask: async () => ({ answers: new Map([["two", health(["log: full"])]]), missing: ["three"] }),
    answerWith() {},
  };
  const api = await startApi({
    others,
    nodes: async () => ({
      ...{ name: "c", node: "one", ...(members && { nodes: members }) },
      partitions: [
        { partition: 0, node: "one", lagEvents: 2 },
        { partition: 1, node: "gone" },
        { partition: 2, node: "gone" },
        { partition: 3 },
      ],
    }),
  });
  api.readiness.warnings.push("Broker b does not answer; no copies; no reads");
  const { body } = await api.send("GET", "/v2/cluster");
  expect(body.problems).toEqual([
    "Node three does not answer",
    "Partitions 1, 2 run at no node: the last was gone",
    "Partition 3 runs at no node",
    "Nodes run versions 1.0.0 and 1.1.0",
    "two: log: full",
    // The two nodes name different consequences of one trouble.
    "Broker b does not answer; no copies; no reads",
  ]);
  expect(body.nodes.map((it: { answers: boolean }) => it.answers)).toEqual([true, true, false]);
  expect(body.nodes[1].problems).toEqual(["log: full", "Broker b does not answer; no copies"]);
  members = undefined;
  expect((await api.send("GET", "/v2/cluster")).body.problems[0]).toBe(
    "The coordinator of the group c does not say who its members are",
  );
  await api.stop();
});

test("a cause is one row, as a trouble where it is one at some node", async () => {
  const broker = "Broker 1 (b:2) does not answer";
  const told = (troubles: string[], warnings: string[]) => ({
    ...{ troubles, warnings, lanes: {}, connections: {}, suspensions: [] },
    running: [],
  });
  const leads = `cluster: ${broker}; it leads the catalog`;
  const others: PeerNodes = {
    node: "one",
    ask: async () => ({
      answers: new Map([["two", told([leads], [`${broker}; events has no leader`, "Odd"])]]),
      missing: [],
    }),
    answerWith() {},
  };
  const api = await startApi({
    others,
    nodes: async () => ({ name: "c", node: "one", nodes: [], partitions: [] }),
  });
  api.readiness.warnings.push(`${broker}; copies are missing`);
  const row = `${leads}; copies are missing; events has no leader`;
  const { problems } = (await api.send("GET", "/v2/overview")).body;
  expect(problems).toEqual([
    { kind: "not-ready", message: expect.any(String) },
    { kind: "warning", message: "two: Odd" },
  ]);
  const clauses = (text: string) => text.split("; ").sort();
  expect(clauses(problems[0].message)).toEqual(clauses(row));
  const { body } = await api.send("GET", "/v2/cluster");
  expect(body.problems.map(clauses)).toEqual([clauses(row), ["two: Odd"]]);
  await api.stop();
});

test("a node that does not answer is listed, and the state of its lanes is unknown", async () => {
  const others: PeerNodes = {
    node: "one",
    ask: async () => ({ answers: new Map(), missing: ["two"] }),
    answerWith() {},
  };
  const api = await startApi({ others });
  const made = await api.send("POST", "/v2/destinations", {
    body: { name: "Hook", type: "webhook", config: { webhookUrl: "https://receiver.test/" } },
  });
  const { id } = made.body.destination;
  const { body } = await api.send("GET", "/v2/overview");
  expect(body.missingNodes).toEqual(["two"]);
  expect(body.destinations[0].state).toBe("unknown");
  expect(body.problems[0]).toMatchObject({ kind: "node-missing" });
  expect((await api.send("GET", "/v2/suspensions")).body.missingNodes).toEqual(["two"]);
  const history = await api.send("GET", `/v2/destinations/${id}/history`);
  expect(history.body.missingNodes).toEqual(["two"]);
  await api.stop();
});

test("each answer of all nodes names those that do not answer, and no list where all do", async () => {
  let missing: string[] = [];
  const others: PeerNodes = {
    node: "one",
    ask: async () => ({ answers: new Map(), missing }),
    answerWith() {},
  };
  const api = await startApi({ others });
  const things = await makeThings(api);
  const asked = routes.filter((it) => "missingNodes" in (it.answer?.properties ?? {}));
  expect(asked.length).toBeGreaterThan(10);
  for (const expected of [undefined, ["two"]]) {
    missing = expected ?? [];
    for (const route of asked) {
      const { status, body } = await sendExample(api, exampleOf(route, things));
      expect([route.key, status, body.missingNodes]).toEqual([route.key, 200, expected]);
    }
  }
  await api.stop();
});

test("a workspace asks all nodes a few questions at once", async () => {
  const answers = Promise.withResolvers<void>();
  const others: PeerNodes = {
    node: "one",
    async ask() {
      await answers.promise;
      return { answers: new Map(), missing: [] };
    },
    answerWith() {},
  };
  const api = await startApi({ others });
  const waiting = Array.from({ length: STATUS_QUESTIONS_OF_WORKSPACE_MAX + 1 }, async () => {
    const { status } = await api.send("GET", "/v2/suspensions");
    answers.resolve();
    return status;
  });
  const statuses = await Promise.all(waiting);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  await api.stop();
});
