import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { PeerNodes } from "../../../src/api/deps.ts";
import { OVERVIEW_LAG_SECONDS_MIN } from "../../../src/settings/limits.ts";
import { quietFacts, startAlertScene, type TestFacts } from "../../alerts/_scene.ts";

/** State `ok` promises that what is stored for a destination is delivered now. */

const FULL = "The ledger cannot be written: the disk of /data is full (0 bytes free)";
const facts: TestFacts = quietFacts();
let missing: string[] = [];
let slowCodeSince: number | undefined;
let scene: Awaited<ReturnType<typeof startAlertScene>>;

beforeAll(async () => {
  const others: PeerNodes = {
    node: "one",
    ask: async () => ({ answers: new Map(), missing }),
    answerWith() {},
  };
  scene = await startAlertScene({ facts, more: { others, slowCode } });
}, 300_000);
beforeEach(() => {
  Object.assign(facts, quietFacts());
  missing = [];
  slowCodeSince = undefined;
  scene.api.readiness.checks = { log: { ok: true } };
});
afterAll(() => scene.api.stop());

function slowCode(): ReadonlyMap<string, number> {
  if (slowCodeSince === undefined) return new Map();
  return new Map([[publishedVersion(), slowCodeSince]]);
}

function publishedVersion(): string {
  const { code } = scene.api.catalog;
  const { transformation } = scene.ids;
  return code.publishedRevision(scene.api.workspaceId, "transformation", transformation).revision
    .versionId;
}

/** The destination's state in the overview, the lists, and on its own. */
async function states() {
  const { call, ids } = scene;
  const { destinations, problems } = await call("GET", "/v2/overview");
  const listed = (await call("GET", "/v2/status/destinations")).destinations;
  const blocked = (await call("GET", "/v2/status/destinations?state=blocked")).destinations;
  const { destination } = await call("GET", `/v2/status/destinations/${ids.destination}`);
  const { connections } = await call("GET", "/v2/status/connections");
  const all = [destinations[0].state, listed[0].state, destination.state];
  expect(new Set([...all, connections[0].destinationState]).size).toBe(1);
  expect(blocked.length).toBe(destination.state === "blocked" ? 1 : 0);
  const { state, reason } = destination;
  return { state, reason, problems };
}

test.each(["delivery", "cluster"])(
  "no destination is ok while the check %s fails",
  async (name) => {
    scene.api.readiness.checks[name] = { ok: false, message: FULL };
    expect(await states()).toMatchObject({ state: "blocked", reason: `${name}: ${FULL}` });
    // The destination's own failure comes first.
    facts.lane = { failure: { since: 0, reason: "HTTP 503", isDown: true } };
    expect(await states()).toMatchObject({ state: "down", reason: "HTTP 503" });
    facts.lane = {};
    scene.api.readiness.checks[name] = { ok: true };
    expect((await states()).state).toBe("ok");
  },
);

test("a server that only refuses new events delivers the stored ones", async () => {
  scene.api.readiness.checks.ingest = { ok: false, message: "refuses" };
  expect((await states()).state).toBe("ok");
});

test("a sandbox that does not start stops destinations with user code alone", async () => {
  scene.api.readiness.checks.sandbox = { ok: false, message: "no Landlock" };
  expect(await states()).toMatchObject({ state: "blocked", reason: "sandbox: no Landlock" });
  const { destination, transformation } = scene.ids;
  const path = `/v2/destinations/${destination}/transformation`;
  await scene.call("DELETE", path);
  expect((await states()).state).toBe("ok");
  await scene.call("PUT", path, { transformationId: transformation });
});

test("a destination is not ok while a node that may deliver its events does not answer", async () => {
  missing = ["two"];
  expect((await states()).state).toBe("unknown");
});

test("a destination waits while its user code runs without a result, and says for how long", async () => {
  slowCodeSince = Date.now() - 300_000;
  const reason = "Its user code has run for 5 min without a result";
  expect(await states()).toMatchObject({ state: "waiting", reason });
  facts.lane = { failure: { since: 0, reason: "HTTP 503", isDown: true } };
  expect(await states()).toMatchObject({ state: "down", reason: "HTTP 503" });
});

test("code that ran without a result and is suspended is named with its reason, until it is not", async () => {
  const { call, ids } = scene;
  slowCodeSince = Date.now() - 20_000;
  expect(await states()).toMatchObject({ state: "waiting", problems: [] });
  const reason = "Expected 3 events in a row to end, got more than 8 s of CPU time for each";
  const until = Date.now() + 60_000;
  const suspension = { transformationVersionId: publishedVersion(), name: "Enrich", reason, until };
  facts.suspensions = [suspension];
  facts.deadLetters = 3;
  // The suspension is what stops it now, not the events before it.
  slowCodeSince = undefined;
  const { state, problems } = await states();
  expect(state).toBe("suspended");
  expect(problems).toEqual([
    {
      kind: "suspended",
      message: `Enrich is suspended, every batch failed: ${reason}`,
      transformationId: ids.transformation,
      count: 3,
    },
  ]);
  // The page of the code reads it here.
  const told = { ...suspension, until: new Date(until).toISOString() };
  expect((await call("GET", "/v2/suspensions")).suspensions).toEqual([told]);
  facts.suspensions = [];
  facts.deadLetters = 0;
  expect(await states()).toMatchObject({ state: "ok", problems: [] });
  expect((await call("GET", "/v2/suspensions")).suspensions).toEqual([]);
});

test("a destination that lags is a problem without an alert rule, and says since when", async () => {
  facts.lane = { lagEvents: 1_200, lagSeconds: OVERVIEW_LAG_SECONDS_MIN - 1 };
  expect(await states()).toMatchObject({ state: "ok", problems: [] });
  facts.lane = { lagEvents: 1_200, lagSeconds: 2 * OVERVIEW_LAG_SECONDS_MIN };
  facts.deadLetters = 3;
  const { state, problems } = await states();
  expect(state).toBe("lagging");
  expect(problems).toEqual([
    {
      kind: "destination-lagging",
      message: "Warehouse lags 30 min behind: 1,200 events pending",
      destinationId: scene.ids.destination,
      since: expect.any(String),
      count: 3,
    },
  ]);
  const ageSeconds = (Date.now() - Date.parse(problems[0].since)) / 1_000;
  expect(ageSeconds).toBeGreaterThanOrEqual(2 * OVERVIEW_LAG_SECONDS_MIN);
  // The server's trouble is the row for all destinations that it stops.
  scene.api.readiness.checks.delivery = { ok: false, message: FULL };
  expect((await states()).problems.map(({ kind }: { kind: string }) => kind)).toEqual([
    "not-ready",
    "dead-letters",
  ]);
});

test("dead letters are a problem with their latest reason and the age of the first", async () => {
  facts.deadLetters = 2;
  const group = { workspaceId: "w", destinationId: "d", stage: "deliver" as const, count: 1 };
  facts.groups = [
    { ...group, id: "1", reason: "HTTP 422 from receiver", firstAt: 1_000, lastAt: 9_000 },
    { ...group, id: "2", reason: "HTTP 404 from receiver", firstAt: 5_000, lastAt: 5_000 },
  ];
  expect((await states()).problems).toEqual([
    {
      kind: "dead-letters",
      message: "Warehouse has 2 dead letters: HTTP 422 from receiver",
      destinationId: scene.ids.destination,
      since: "1970-01-01T00:00:01.000Z",
      count: 2,
    },
  ]);
});
