import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import { mergeRecent } from "../../../src/api/routes/events/recent-merge.ts";
import type { StatusDeps } from "../../../src/api/routes/status/local-status.ts";
import { answerLocally, latestOutcomes } from "../../../src/api/routes/status/node-status.ts";
import type { LatestOutcome } from "../../../src/pipeline/recent/latest-outcomes.ts";
import { RECENT_ANSWER_BYTES_MAX, RECENT_EVENTS_MAX } from "../../../src/settings/limits.ts";
import { PATIENCE_MS } from "../../sandbox/support.ts";
import { until } from "../../until.ts";
import { startApi, type TestApi } from "../_setup.ts";

setDefaultTimeout(PATIENCE_MS);

let api: TestApi;
let sourceId: string;
let refusing: string;
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: ({ url }) => new Response(null, { status: url.endsWith("/no") ? 422 : 200 }),
});
beforeAll(async () => {
  api = await startApi();
  sourceId = await source("S");
});
afterAll(async () => {
  await api.stop();
  await receiver.stop(true);
});

async function source(name: string): Promise<string> {
  return (await api.send("POST", "/v2/sources", { body: { name } })).body.source.id;
}

/** Creates a destination of the source. */
async function connect(path: string): Promise<string> {
  const config = { webhookUrl: receiver.url.href + path };
  const body = { name: "D", type: "webhook", config };
  const { destination } = (await api.send("POST", "/v2/destinations", { body })).body;
  const ends = { sourceId, destinationId: destination.id };
  await api.send("POST", "/v2/connections", { body: ends });
  return destination.id;
}

type Events = Record<string, any>[];

const list = async (query = "") =>
  (await api.send("GET", `/v2/events/recent?${query}`)).body.events as Events;

async function listed(query: string, isThere: (events: Events) => boolean): Promise<Events> {
  for (;;) {
    const events = await list(query);
    if (isThere(events)) return events;
    await Bun.sleep(20);
  }
}

describe("GET /v2/events/recent", () => {
  test("has an event of a source without destinations at once, although no tail was open", async () => {
    expect(await list()).toEqual([]);
    await api.page(sourceId, "anonymousId=a&name=First");
    const [event, ...others] = await list();
    expect(others).toEqual([]);
    expect(event).toEqual({
      messageId: event!.received.messageId,
      sourceId,
      at: event!.receivedAt,
      receivedAt: expect.any(String),
      received: expect.objectContaining({ name: "First", anonymousId: "a" }),
      outcomes: [],
    });
  });

  test("has each event before and after code, and why it was not delivered", async () => {
    refusing = await connect("no");
    const taking = await connect("yes");
    const code = "export function transformEvent(event) { return { ...event, added: 1 }; }";
    const body = { name: "T", code, language: "javascript", destinationIds: [taking] };
    expect((await api.send("POST", "/transformations?publish=true", { body })).status).toBe(200);
    await api.page(sourceId, "anonymousId=a&name=Second");
    const isKnown = ([event]: Events) => event!.outcomes.every((it: any) => it.at !== undefined);
    const [second, first] = await listed("", isKnown);
    const byDestination = new Map(second!.outcomes.map((it: any) => [it.destinationId, it]));
    expect(second!.received).toMatchObject({ name: "Second" });
    expect(second!.received.added).toBeUndefined();
    expect(byDestination.get(taking)).toMatchObject({
      outcome: "delivered",
      event: { name: "Second", added: 1 },
    });
    expect(byDestination.get(refusing)).toMatchObject({
      outcome: "dead-letter",
      reason: "HTTP 422 from receiver",
      response: { status: 422 },
      event: { name: "Second" },
    });
    expect(Date.parse(second!.at)).toBeGreaterThanOrEqual(Date.parse(second!.receivedAt));
    expect(first!.outcomes.map((it: any) => it.outcome)).toEqual([
      "not-connected",
      "not-connected",
    ]);
    // The dead letter has an id once it is stored.
    await listed("limit=1", ([event]) => event!.outcomes.some((it: any) => it.deadLetterId));

    const names = async (query: string) => (await list(query)).map((it) => it.received.name);
    expect(await names(`destinationId=${taking}&outcome=delivered`)).toEqual(["Second"]);
    expect(await names(`destinationId=${taking}&outcome=dead-letter`)).toEqual([]);
    expect(await names(`destinationId=${taking}&outcome=not-connected`)).toEqual(["First"]);
    const [own] = await list(`destinationId=${taking}`);
    expect(own!.outcomes.map((it: any) => it.destinationId)).toEqual([taking]);
    expect(await names("limit=1")).toEqual(["Second"]);
    expect(await names(`sourceId=${await source("Other")}`)).toEqual([]);
  });

  test("has events that a destination's filter left out as dropped, and the others as delivered", async () => {
    const filtered = await connect("yes");
    const filter = { mode: "except", conditions: [{ path: "name", values: ["Internal*"] }] };
    const put = (body: object) => api.send("PUT", `/v2/destinations/${filtered}`, { body });
    expect((await put({ filter })).body.destination.filter).toEqual(filter);
    await api.page(sourceId, "anonymousId=a&name=Internal+page");
    await api.page(sourceId, "anonymousId=a&name=Public+page");
    const isKnown = (events: Events) =>
      events.filter(({ outcomes }) => outcomes.some((it: any) => it.at !== undefined)).length === 2;
    const events = await listed(`destinationId=${filtered}`, isKnown);
    const outcomes = events.map((it) => [it.received.name, it.outcomes[0].outcome]);
    expect(new Map(outcomes as [string, string][])).toMatchObject(
      new Map([
        ["Internal page", "dropped"],
        ["Public page", "delivered"],
      ]),
    );
    expect((await put({ filter: null })).body.destination).not.toHaveProperty("filter");
    await api.send("DELETE", `/v2/destinations/${filtered}`);
  });

  test("tells why an event was refused at ingestion", async () => {
    const refused = await source("Refused");
    await api.append({
      format: "json",
      type: "track",
      sourceId: refused,
      clientAddress: "127.0.0.1",
      receivedAt: Date.now(),
      json: Buffer.from('["no event"]'),
      refused: "Expected an object, got a list",
    } as never);
    expect(await list(`sourceId=${refused}`)).toMatchObject([
      { refused: "Expected an object, got a list", received: ["no event"], outcomes: [] },
    ]);
  });

  test("has at most a number of events, and a number of bytes", async () => {
    const busy = await source("Busy");
    for (let n = 0; n <= RECENT_EVENTS_MAX; n++) await api.page(busy, `anonymousId=a&name=${n}`);
    const events = await list(`sourceId=${busy}`);
    expect(events).toHaveLength(RECENT_EVENTS_MAX);
    expect(events[0]!.received.name).toBe(String(RECENT_EVENTS_MAX));
    const large = await source("Large");
    const long = "x".repeat(RECENT_ANSWER_BYTES_MAX / 64);
    for (let n = 0; n < 70; n++) await api.page(large, `anonymousId=a&properties.p=${long}`);
    expect((await list(`sourceId=${large}`)).length).toBeLessThan(64);
  });

  test("shows nothing of another workspace, and refuses tokens that may not read events", async () => {
    const other = await api.catalog.workspaces.create("Other");
    const reader = await api.tokenWith(["events:read"], other.id);
    for (const query of ["", `?sourceId=${sourceId}`, `?destinationId=${refusing}`]) {
      const { body } = await api.send("GET", `/v2/events/recent${query}`, { token: reader });
      expect(body.events).toEqual([]);
    }
    const admin = await api.tokenWith(["workspace:admin"]);
    expect((await api.send("GET", "/v2/events/recent", { token: admin })).status).toBe(403);
  });
});

const outcome = (messageId: string, at: number, more: object = {}): LatestOutcome => ({
  messageId,
  sourceId: "s",
  destinationId: "d",
  outcome: "delivered",
  receivedAt: at,
  at,
  received: JSON.stringify({ messageId }),
  ...more,
});

/** The dependencies of a node with the outcomes of these times. */
function node(times: number[], others?: object) {
  const asked: unknown[] = [];
  const deps = {
    pipeline: {
      latestOutcomes(...question: unknown[]) {
        asked.push(question);
        return times.map((at) => outcome(`m${at}`, at));
      },
    },
    limiters: createLimiters(0),
    ...(others && { others }),
  } as never as StatusDeps;
  return { deps, asked };
}

test("any node asks all nodes, and names those that did not answer", async () => {
  const other = node([4, 2]);
  const { deps } = node([3, 1], {
    node: "one",
    async ask(question: unknown) {
      const answer = answerLocally(other.deps, question);
      return { answers: new Map([["two", answer]]), missing: ["three"] };
    },
  });
  const found = await latestOutcomes(deps, "w", { sourceId: "s" }, 3);
  expect(mergeRecent([], found.rows).map(({ at }) => at)).toEqual([4, 3, 2, 1]);
  expect(found.missingNodes).toEqual(["three"]);
  expect(other.asked).toEqual([["w", { sourceId: "s" }, 3]]);
});

test("large integers keep their digits, also in dead letters", async () => {
  const destinationId = await connect("no");
  const json = Buffer.from('{"type":"track","event":"Big","userId":"u","n":12345678901234567}');
  await api.append({
    ...{ format: "json", type: "track", receivedAt: Date.now(), sourceId, json },
    ...{ clientAddress: "", messageId: new Uint8Array(16), sentAt: undefined, refused: undefined },
  });
  await listed(`destinationId=${destinationId}&outcome=dead-letter`, ({ length }) => length > 0);
  const recent = await api.send("GET", `/v2/events/recent?destinationId=${destinationId}`);
  expect(recent.text.match(/"n":12345678901234567[,}]/g)).toHaveLength(2);
  const letters = () => api.send("GET", `/v2/dead-letters?destinationId=${destinationId}`);
  await until(async () => (await letters()).body.paging.total > 0);
  expect((await letters()).text).toContain('"n":12345678901234567');
});

describe("outcomes of the ledgers and of the nodes' memory", () => {
  const stored = (outcomes: object[]) => ({
    messageId: "m",
    sourceId: "s",
    receivedAt: 1,
    received: '{"messageId":"m"}',
    outcomes: outcomes as never,
  });

  test("make one event, in the order of their times, and memory tells more", () => {
    const settled = { destinationId: "d", outcome: "settled" };
    const waiting = { destinationId: "e", outcome: "in-flight" };
    const merged = mergeRecent(
      [stored([settled, waiting])],
      [
        outcome("m", 9, { outcome: "dropped", receivedAt: 1 }),
        outcome("m", 5, { receivedAt: 1 }),
        outcome("older", 2),
      ],
    );
    expect(merged).toEqual([
      {
        messageId: "m",
        sourceId: "s",
        receivedAt: 1,
        at: 9,
        received: '{"messageId":"m"}',
        outcomes: [
          { destinationId: "d", outcome: "delivered", at: 5 },
          { destinationId: "d", outcome: "dropped", at: 9 },
          waiting,
        ],
      } as never,
      expect.objectContaining({ messageId: "older", at: 2 }),
    ]);
  });

  test("are those of one event, and not of others with its messageId", () => {
    const first = stored([{ destinationId: "d", outcome: "settled" }]);
    const again = { ...stored([{ destinationId: "d", outcome: "repeated" }]), receivedAt: 2 };
    const elsewhere = { ...stored([]), sourceId: "other" };
    const merged = mergeRecent(
      [elsewhere, again, first],
      [outcome("m", 3, { receivedAt: 1 }), outcome("m", 4, { receivedAt: 5 })],
    );
    const outcomesOf = merged.map(({ sourceId, receivedAt, outcomes }) => [
      ...[sourceId, receivedAt, outcomes.map((it) => it.outcome)],
    ]);
    expect(outcomesOf).toEqual([
      ["s", 5, ["delivered"]],
      ["s", 1, ["delivered"]],
      ["s", 2, ["repeated"]],
      ["other", 1, []],
    ]);
  });

  test("keep a dead letter that memory does not have, and give its id to one that it has", () => {
    const letter = { destinationId: "d", outcome: "dead-letter", deadLetterId: "l", reason: "r" };
    const outcomesWith = (recent: LatestOutcome) =>
      mergeRecent([stored([letter])], [recent])[0]!.outcomes;
    expect(outcomesWith(outcome("m", 5, { receivedAt: 1 }))).toEqual([
      { destinationId: "d", outcome: "delivered", at: 5 },
      letter,
    ] as never);
    const failed = outcome("m", 5, { outcome: "dead-letter", receivedAt: 1 });
    expect(outcomesWith(failed)).toEqual([
      { destinationId: "d", outcome: "dead-letter", at: 5, deadLetterId: "l" },
    ] as never);
  });
});
