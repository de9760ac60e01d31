import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { alertKinds } from "../../src/catalog/alerts/model.ts";
import {
  type AlertScene,
  quietFacts,
  startAlertScene,
  startReceiver,
  type TestFacts,
  type TestReceiver,
  until,
} from "./_scene.ts";

let scene: AlertScene;
let receiver: TestReceiver;

beforeAll(async () => {
  receiver = startReceiver();
  scene = await startAlertScene();
  await scene.call("POST", "/v2/alerts/receivers", {
    name: "On call",
    type: "webhook",
    url: receiver.url,
  });
});

afterAll(async () => {
  await scene.api.stop();
  receiver.stop();
});

beforeEach(async () => {
  Object.assign(scene.facts, quietFacts());
  scene.api.readiness.checks = { log: { ok: true } };
  scene.api.readiness.warnings = [];
  const { rules } = await scene.call("GET", "/v2/alerts/rules");
  for (const { id } of rules) await scene.call("DELETE", `/v2/alerts/rules/${id}`);
  await scene.pass(10);
  receiver.got.length = 0;
});

const failure = { since: Date.now(), reason: "HTTP 503 from receiver" };

/** Trouble that each kind of rule reports, and what the alert says. */
const troubles: {
  kind: string;
  threshold?: number;
  begin(facts: TestFacts): void;
  message: RegExp;
  link: RegExp;
}[] = [
  {
    kind: "destination-down",
    begin(facts) {
      facts.lane = { failure: { ...failure, isDown: true } };
    },
    message: /^Warehouse is down: HTTP 503 from receiver$/,
    link: /\/#\/destinations\/\w+$/,
  },
  {
    kind: "destination-failing",
    begin(facts) {
      facts.lane = { failure: { ...failure, isDown: false } };
    },
    message: /^Warehouse is failing: HTTP 503 from receiver$/,
    link: /\/#\/destinations\/\w+$/,
  },
  {
    kind: "dead-letters",
    threshold: 5,
    begin(facts) {
      facts.deadLetters += 5;
    },
    message: /^Warehouse has 5 new dead letters, 5 in all$/,
    link: /\/#\/dead-letters\?destinationId=\w+$/,
  },
  {
    kind: "lag",
    threshold: 60,
    begin(facts) {
      facts.lane = { lagSeconds: 90, lagEvents: 12 };
    },
    message: /^Warehouse lags 90 s behind: 12 events not delivered$/,
    link: /\/#\/destinations\/\w+$/,
  },
  {
    kind: "code-suspended",
    begin(facts) {
      facts.suspensions = [suspension()];
    },
    message: /^Enrich is suspended, because it only fails: TypeError: x$/,
    link: /\/#\/transformations\/\w+$/,
  },
  {
    kind: "source-silent",
    begin(facts) {
      facts.lane = { rates: [] };
    },
    message: /^Website has sent no events for 30 s$/,
    link: /\/#\/sources\/\w+$/,
  },
  {
    kind: "server-not-ready",
    begin() {
      scene.api.readiness.checks = { ingest: { ok: false, message: "The disk is full" } };
    },
    message: /^The server is not ready: ingest: The disk is full$/,
    link: /\/#\/system$/,
  },
  {
    kind: "server-warning",
    begin() {
      scene.api.readiness.warnings = ["Partition 3 has too few replicas"];
    },
    message: /^The server has warnings: Partition 3 has too few replicas$/,
    link: /\/#\/system$/,
  },
  {
    kind: "disk",
    begin(facts) {
      facts.disk = { freeBytes: 5e9, sizeBytes: 100e9 };
    },
    message: /^The disk of the server has 5.0 GB \(5 %\) left$/,
    link: /\/#\/system$/,
  },
];

function suspension() {
  const { catalog, workspaceId } = scene.api;
  const { revision } = catalog.code.publishedRevision(
    workspaceId,
    "transformation",
    scene.ids.transformation,
  );
  const until = Date.now() + 60_000;
  return {
    transformationVersionId: revision.versionId,
    name: "Enrich",
    until,
    reason: "TypeError: x",
  };
}

const types = () => receiver.got.map(({ body }) => body.type);

test.each(troubles)(
  "a rule of the kind $kind tells the beginning and the end of its trouble once",
  async ({ kind, threshold, begin, message, link }) => {
    const body = { kind, forSeconds: 30, clearSeconds: 90, ...(threshold && { threshold }) };
    const { rule } = await scene.call("POST", "/v2/alerts/rules", body);
    await scene.pass(60);
    expect(types()).toEqual([]);
    begin(scene.facts);
    await scene.pass(30);
    // A dead letter stays, so its rule waits from the first evaluation on like the others.
    expect(types()).toEqual([]);
    await scene.pass(60);
    await until(() => receiver.got.length > 0);
    expect(types()).toEqual(["alert.began"]);
    const began = receiver.got[0]!.body;
    expect(began.alert.message).toMatch(message);
    expect(began.url).toMatch(link);
    expect(began.url).toStartWith("http://console.example/#/");
    const open = await scene.call("GET", "/v2/alerts?state=open");
    expect(open.alerts).toMatchObject([{ kind, state: "open", rule: { id: rule.id } }]);
    expect(open.paging.total).toBe(1);

    const { deadLetters } = scene.facts;
    Object.assign(scene.facts, quietFacts(), { deadLetters });
    scene.api.readiness.checks = { log: { ok: true } };
    scene.api.readiness.warnings = [];
    await scene.pass(200);
    await until(() => receiver.got.length > 1);
    expect(types()).toEqual(["alert.began", "alert.ended"]);
    expect(receiver.got[1]!.body.dedupKey).toBe(began.dedupKey);
    expect((await scene.call("GET", "/v2/alerts?state=open")).alerts).toEqual([]);
    const newest = async () => (await scene.call("GET", "/v2/alerts?state=ended")).alerts[0];
    await until(async () => !JSON.stringify(await newest()).includes("pending"));
    expect((await newest()).notifications).toMatchObject([
      { phase: "begin", state: "sent", attempts: 1 },
      { phase: "end", state: "sent", attempts: 1 },
    ]);
  },
);

test("a trouble that ends within the rule's time sends no notification", async () => {
  await scene.call("POST", "/v2/alerts/rules", { kind: "lag", threshold: 60, forSeconds: 60 });
  for (let round = 0; round < 3; round += 1) {
    scene.facts.lane = { lagSeconds: 90 };
    await scene.pass(50);
    scene.facts.lane = {};
    await scene.pass(10);
  }
  expect((await scene.call("GET", "/v2/alerts?state=open")).alerts).toEqual([]);
  expect(types()).toEqual([]);
});

test("new dead letters begin an alert again after the last one has ended", async () => {
  const body = { kind: "dead-letters", threshold: 2, clearSeconds: 20 };
  await scene.call("POST", "/v2/alerts/rules", body);
  const rounds = async (count: number, letters: number) => {
    scene.facts.deadLetters = letters;
    await scene.pass(60);
    await until(() => receiver.got.length === count);
  };
  await rounds(2, 2);
  await rounds(2, 3);
  await rounds(4, 5);
  // A replay takes them away; the next ones count from there on.
  await rounds(4, 0);
  await rounds(6, 2);
  expect(types()).toEqual([...Array(3).fill(["alert.began", "alert.ended"])].flat());
});

test("a disabled or deleted rule ends its alerts", async () => {
  for (const end of [
    (id: string) => scene.call("PUT", `/v2/alerts/rules/${id}`, { enabled: false }),
    (id: string) => scene.call("DELETE", `/v2/alerts/rules/${id}`),
  ]) {
    receiver.got.length = 0;
    const body = { kind: "lag", threshold: 60, forSeconds: 0 };
    const { rule } = await scene.call("POST", "/v2/alerts/rules", body);
    scene.facts.lane = { lagSeconds: 90 };
    await scene.pass(10);
    await until(() => receiver.got.length === 1);
    await end(rule.id);
    await scene.pass(10);
    await until(() => receiver.got.length === 2);
    expect(types()).toEqual(["alert.began", "alert.ended"]);
  }
});

test("a rule for some items raises no alert for other items", async () => {
  const config = { path: "other.jsonl" };
  const other = { name: "Other", type: "file", config };
  const { destination } = await scene.call("POST", "/v2/destinations", other);
  const subjectIds = [destination.id];
  const rule = { kind: "lag", forSeconds: 0, subjectIds };
  const created = (await scene.call("POST", "/v2/alerts/rules", rule)).rule;
  await scene.call("DELETE", `/v2/destinations/${destination.id}`);
  scene.facts.lane = { lagSeconds: 9_000 };
  await scene.pass(20);
  expect((await scene.call("GET", "/v2/alerts?state=open")).alerts).toEqual([]);
  // The item that is gone stops no other change, and may be kept or taken out.
  const change = (body: object) => scene.call("PUT", `/v2/alerts/rules/${created.id}`, body);
  expect((await change({ subjectIds, threshold: 60 })).rule).toMatchObject({ subjectIds });
  const subjects = { subjectIds: [scene.ids.destination] };
  expect((await change(subjects)).rule).toMatchObject(subjects);
  await scene.pass(20);
  expect((await scene.call("GET", "/v2/alerts?state=open")).alerts).toHaveLength(1);
});

test("a rule about an item that it cannot evaluate is refused, since it would be silent", async () => {
  const { source, destination, transformation } = scene.ids;
  const { catalog } = scene.api;
  const stranger = await catalog.sources.create((await catalog.workspaces.create("Other")).id, {
    name: "Theirs",
  });
  const create = (kind: string, ...subjectIds: string[]) =>
    scene.api.send("POST", "/v2/alerts/rules", { body: { kind, subjectIds } });
  for (const [kind, id] of [
    ["lag", destination],
    ["code-suspended", transformation],
    ["source-silent", source],
  ] as const) {
    expect((await create(kind, id)).status).toBe(201);
  }
  for (const [kind, wrong, noun] of [
    ["lag", source, "destination"],
    ["destination-down", "unknown", "destination"],
    ["code-suspended", destination, "transformation"],
    ["source-silent", stranger.id, "source"],
  ] as const) {
    const { status, body } = await create(kind, ...(kind === "lag" ? [destination] : []), wrong);
    expect(status).toBe(400);
    expect(body.details).toEqual([
      {
        path: `/subjectIds/${kind === "lag" ? 1 : 0}`,
        message: `Expected the id of a ${noun} of this workspace, got another id`,
      },
    ]);
  }
  const { status, body } = await create("disk", destination);
  expect(status).toBe(400);
  expect(body.details[0].path).toBe("/subjectIds");
});

test("a rule whose quiet hours have no time zone, or end as they begin, is refused by their path", async () => {
  const create = (quietHours: object) =>
    scene.api.send("POST", "/v2/alerts/rules", { body: { kind: "disk", quietHours } });
  for (const [quietHours, path] of [
    [{ from: "22:00", to: "07:00", timeZone: "Europe/Nowhere" }, "/quietHours/timeZone"],
    [{ from: "22:00", to: "22:00", timeZone: "Europe/Berlin" }, "/quietHours/to"],
  ] as const) {
    const { status, body } = await create(quietHours);
    expect(status).toBe(400);
    expect(body.details.map((it: { path: string }) => it.path)).toEqual([path]);
  }
});

test("a null gives a number of a rule the default value of its kind", async () => {
  const body = { kind: "lag", threshold: 7, forSeconds: 8, clearSeconds: 9 };
  const { rule } = await scene.call("POST", "/v2/alerts/rules", body);
  const put = async (change: object) =>
    (await scene.call("PUT", `/v2/alerts/rules/${rule.id}`, change)).rule;
  const fallback = (await scene.call("POST", "/v2/alerts/rules", { kind: "lag" })).rule;
  expect(fallback.threshold).not.toBe(7);
  expect(await put({ threshold: null })).toMatchObject({
    ...{ threshold: fallback.threshold, forSeconds: 8, clearSeconds: 9 },
  });
  const { forSeconds, clearSeconds } = fallback;
  expect(await put({ forSeconds: null, clearSeconds: null })).toMatchObject({
    ...{ threshold: fallback.threshold, forSeconds, clearSeconds },
  });
  const silent = { kind: "destination-down", threshold: null, forSeconds: null };
  const made = (await scene.call("POST", "/v2/alerts/rules", silent)).rule;
  expect([made.kind, made.threshold]).toEqual(["destination-down", undefined]);
});

test("the first receiver of a workspace creates default rules, and the first workspace's alone those about the server", async () => {
  const { catalog } = scene.api;
  const other = await catalog.workspaces.create("Other");
  const token = await scene.api.tokenWith(["workspace:admin"], other.id);
  const create = (path: string, body: unknown) => scene.api.send("POST", path, { body, token });
  const body = { name: "Hook", type: "webhook", url: receiver.url };
  expect((await create("/v2/alerts/receivers", body)).status).toBe(201);
  const { rules } = (await scene.api.send("GET", "/v2/alerts/rules", { token })).body;
  expect(rules.map(({ kind }: { kind: string }) => kind)).toEqual([
    "destination-failing",
    "dead-letters",
    "lag",
    "code-suspended",
    "source-silent",
  ]);
  const refused = await create("/v2/alerts/rules", { kind: "disk" });
  expect(refused.status).toBe(400);
  expect(refused.body.message).toContain("Expected a kind about the workspace");
  // Its trouble is not told to the other workspace.
  scene.api.readiness.warnings = ["A secret of the operator"];
  await scene.pass(600);
  expect(JSON.stringify(receiver.got)).not.toContain("operator");
});

test("the API tells the kinds of rules that it takes of a workspace, and the subject of each", async () => {
  const other = await scene.api.catalog.workspaces.create("Other");
  const token = await scene.api.tokenWith(["workspace:admin"], other.id);
  for (const secret of [token, scene.api.token]) {
    const told = (await scene.api.send("GET", "/v2/alerts/rule-kinds", { token: secret })).body;
    for (const kind of alertKinds) {
      const [rule] = told.kinds.filter((it: { kind: string }) => it.kind === kind);
      const answer = await scene.api.send("POST", "/v2/alerts/rules", {
        body: { kind },
        token: secret,
      });
      expect([kind, answer.status]).toEqual([kind, rule === undefined ? 400 : 201]);
      if (rule !== undefined) expect(answer.body.rule).toMatchObject(rule);
    }
    expect(told.kinds).toHaveLength(secret === token ? 6 : alertKinds.length);
  }
});
