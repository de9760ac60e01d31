import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ApiDeps } from "../../../src/api/deps.ts";
import { sealCursor } from "../../../src/api/routes/events/search-cursor.ts";
import { CLUSTER_PARTITIONS_MAX, SEARCHES_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
let source: string;
beforeAll(async () => {
  api = await startApi();
  source = (await api.client.call("POST /v2/sources", { body: { name: "Web", type: "http" } }))
    .source.id;
  for (let n = 0; n < 5; n++) await api.page(source, `name=P${n}&userId=u${n % 2}&anonymousId=a`);
});
afterAll(() => api.stop());

const search = async (query: Record<string, string>) =>
  (await api.send("GET", `/v2/events/search?${new URLSearchParams(query)}`)).body;

describe("GET /v2/events/search", () => {
  test("finds events by user, page by page", async () => {
    const first = await search({ userId: "u0", limit: "2" });
    expect(first.events.map(({ event }: any) => event.name)).toEqual(["P4", "P2"]);
    expect(first.stopped).toBe("limit");
    expect(first.events[0].sourceId).toBe(source);
    expect(first.events[0].messageId).toBe(first.events[0].event.messageId);
    expect(first.events[0].receivedAt).toBe(first.events[0].event.receivedAt);
    const second = await search({ userId: "u0", limit: "2", cursor: first.cursor });
    expect(second.events.map(({ event }: any) => event.name)).toEqual(["P0"]);
    expect([second.stopped, second.cursor]).toEqual([undefined, undefined]);
  });

  test("finds an event by its id, within a time, of a source", async () => {
    const [newest] = (await search({ limit: "1" })).events;
    const { messageId, receivedAt } = newest;
    expect((await search({ messageId })).events).toEqual([newest]);
    expect((await search({ messageId: messageId.toUpperCase() })).events).toEqual([newest]);
    expect((await search({ messageId, to: receivedAt })).events).toEqual([]);
    expect((await search({ messageId, from: receivedAt, sourceId: source })).events).toEqual([
      newest,
    ]);
  });

  test("finds events that were refused at ingestion, with the reason, and no outcome", async () => {
    const refuse = (json: string, messageId?: Uint8Array) =>
      api.append({
        ...{ format: "json", type: "track", receivedAt: Date.now(), sourceId: source },
        ...{ clientAddress: "", messageId, sentAt: undefined, json: Buffer.from(json) },
        refused: "Expected an event type",
      });
    await refuse('{"messageId":"mine","type":"no","userId":"bad"}');
    await refuse("[1]", new Uint8Array(16));
    const { events } = await search({ refused: "true" });
    expect(events).toMatchObject([
      { event: { value: [1] }, refused: "Expected an event type", outcomes: [] },
      { event: { type: "no", userId: "bad" }, messageId: "mine", outcomes: [] },
    ]);
    expect((await search({ messageId: "mine" })).events).toEqual([events[1]]);
    expect((await search({ userId: "bad" })).events).toEqual([events[1]]);
    const others = (await search({ refused: "false" })).events;
    expect(others).toHaveLength(5);
    expect(others.some((it: object) => "refused" in it)).toBe(false);
  });

  test("finds nothing of another workspace", async () => {
    const other = await api.catalog.workspaces.create("Other");
    const token = await api.tokenWith(["events:read"], other.id);
    expect((await api.send("GET", "/v2/events/search", { token })).body.events).toEqual([]);
    const foreign = await api.send("GET", `/v2/events/search?sourceId=${source}`, { token });
    expect(foreign.body.events).toEqual([]);
  });

  test("answers cursors that tell nothing, and are of use to their own workspace alone", async () => {
    const one = (await search({ limit: "1" })).cursor;
    const other = (await search({ limit: "1" })).cursor;
    const longer = (await search({ limit: "4" })).cursor;
    expect(one).not.toBe(other);
    expect(longer).toHaveLength(one.length);
    expect(() => JSON.parse(Buffer.from(one, "base64url").toString())).toThrow();
    const workspace = await api.catalog.workspaces.create("Curious");
    const token = await api.tokenWith(["events:read"], workspace.id);
    const foreign = await api.send("GET", `/v2/events/search?cursor=${one}`, { token });
    expect([foreign.status, foreign.body.details[0].path]).toEqual([400, "?cursor"]);
    for (let at = 0; at < one.length; at += 7) {
      const changed = one.slice(0, at) + (one[at] === "A" ? "B" : "A") + one.slice(at + 1);
      const { status } = await api.send("GET", `/v2/events/search?cursor=${changed}`);
      expect([at, status]).toEqual([at, 400]);
    }
  });

  test("takes a cursor with a position in each partition of the largest cluster", async () => {
    const partitions = Array.from({ length: CLUSTER_PARTITIONS_MAX }, (_, n) => [n, 2 ** 53 - 1]);
    const key = await api.catalog.workspaces.cursorKey(api.workspaceId);
    const cursor = sealCursor(Object.fromEntries(partitions), key);
    expect((await api.send("GET", `/v2/events/search?cursor=${cursor}`)).status).toBe(200);
  });

  test("refuses invalid parameters", async () => {
    const cursors = [
      "~",
      "e30x",
      ...["[]", "null", '{"0":-1}', '{"0":"1"}', "{"].map((it) =>
        Buffer.from(it).toString("base64url"),
      ),
    ];
    const wrong = [
      ...[
        "messageId=",
        "refused=perhaps",
        "userId=",
        "limit=0",
        "limit=1000",
        "from=yesterday",
        `event=${"x".repeat(1_025)}`,
      ],
      ...cursors.map((it) => `cursor=${it}`),
    ];
    for (const query of wrong) {
      const { status, body } = await api.send("GET", `/v2/events/search?${query}`);
      expect([query.slice(0, 50), status]).toEqual([query.slice(0, 50), 400]);
      expect(body.message).toContain(query.split("=")[0]!);
    }
  });

  test("a workspace has a few searches at once, and each releases its permit", async () => {
    const waiting: ((found: any) => void)[] = [];
    const held = await startApi({
      pipeline: {
        current: async () => {},
        search: () => new Promise((resolve) => waiting.push(resolve)),
        outcomes: async () => [],
      } as unknown as ApiDeps["pipeline"],
    });
    const ask = () => held.send("GET", "/v2/events/search");
    const asked = Array.from({ length: SEARCHES_OF_WORKSPACE_MAX }, ask);
    while (waiting.length < asked.length) await Bun.sleep(5);
    const refused = await ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "2"]);
    for (const resolve of waiting.splice(0)) resolve({ events: [], reachedAt: undefined });
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
    const again = ask();
    while (waiting.length < 1) await Bun.sleep(5);
    waiting[0]!({ events: [], reachedAt: undefined });
    expect((await again).status).toBe(200);
    await held.stop();
  });
});

describe("a search by content and outcome", () => {
  let refused: any;
  let shop: string;
  beforeAll(async () => {
    // Refuses the events of one user.
    const receiver = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) =>
        new Response(null, { status: (await request.text()).includes("bad user") ? 400 : 200 }),
    });
    receiver.unref();
    const config = { webhookUrl: receiver.url.href };
    const make = async (path: string, body: object) =>
      (await api.send("POST", path, { body })).body;
    shop = (await make("/v2/sources", { name: "Shop" })).source.id;
    await api.page(shop, "name=Early&userId=bob");
    refused = (await make("/v2/destinations", { name: "D", type: "webhook", config })).destination;
    await make("/v2/connections", { sourceId: shop, destinationId: refused.id });
    await api.page(shop, "name=Fine&userId=bob&properties.plan=pro&properties.seats=5");
    await api.page(shop, "name=Lost&userId=bad%20user&properties.plan=free");
    const settled = async () => {
      const { events } = await search({ sourceId: shop });
      return events.every(({ outcomes }: any) => outcomes[0]?.outcome !== "in-flight");
    };
    while (!(await settled())) await Bun.sleep(10);
  });
  const names = async (query: Record<string, string>) =>
    (await search({ sourceId: shop, ...query })).events.map(({ event }: any) => event.name);

  test("tells what became of each event at each destination", async () => {
    const { events } = await search({ sourceId: shop });
    const outcomes = events.map((it: any) => [it.event.name, it.outcomes]);
    const { deadLetters } = (await api.send("GET", "/v2/dead-letters")).body;
    const { id, reason } = deadLetters.at(-1);
    const destinationId = refused.id;
    expect(outcomes).toEqual([
      ["Lost", [{ destinationId, outcome: "dead-letter", deadLetterId: id, reason }]],
      ["Fine", [{ destinationId, outcome: "settled" }]],
      ["Early", [{ destinationId, outcome: "not-connected" }]],
    ]);
    expect(await names({ outcome: "dead-letter" })).toEqual(["Lost"]);
    expect(await names({ outcome: "settled", destinationId })).toEqual(["Fine"]);
    expect(await names({ outcome: "settled", destinationId: "another" })).toEqual([]);
  });

  test("finds events by the value of a property and by any text", async () => {
    expect(await names({ property: "properties.plan=pro" })).toEqual(["Fine"]);
    expect(await names({ property: "properties.seats=5" })).toEqual(["Fine"]);
    expect(await names({ property: "properties.plan=" })).toEqual([]);
    expect(await names({ property: "properties=5" })).toEqual([]);
    expect(await names({ text: "BAD user" })).toEqual(["Lost"]);
    expect(await names({ text: '"plan":"free"' })).toEqual(["Lost"]);
    expect(await names({ text: '"plan":"none"' })).toEqual([]);
    expect(await names({ text: "bob", property: "name=Early" })).toEqual(["Early"]);
    const { status } = await api.send("GET", "/v2/events/search?property=plan");
    expect(status).toBe(400);
  });

  test("is exported as lines of JSON", async () => {
    const path = `/v2/events/search/export?sourceId=${shop}&outcome=dead-letter`;
    const { text, headers } = await api.send("GET", path);
    expect(headers.get("content-type")).toContain("application/x-ndjson");
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toEqual((await search({ sourceId: shop, outcome: "dead-letter" })).events);
  });

  test("is exported as it was received, on one line, and shown with all digits", async () => {
    const body = { name: "Server", type: "http" as const };
    const { id } = (await api.client.call("POST /v2/sources", { body })).source;
    const sent = ['{"type":"no","traits":{"id":\r\n12345678901234567}}', " [1e400]"];
    for (const json of sent) {
      await api.append({
        ...{ format: "json", type: "track", receivedAt: Date.now(), sourceId: id },
        ...{ clientAddress: "", messageId: new Uint8Array(16), sentAt: undefined },
        ...{ json: Buffer.from(json), refused: "Expected an event type" },
      });
    }
    const { text } = await api.send("GET", `/v2/events/search/export?sourceId=${id}`);
    const lines = text.trim().split(/[\r\n]/);
    expect(lines[0]).toEndWith(',"event":{"value": [1e400]}}');
    expect(lines[1]).toEndWith(',"event":{"type":"no","traits":{"id":12345678901234567}}}');
    expect(lines).toHaveLength(2);
    const shown = '"traits":{"id":12345678901234567}';
    const query = { sourceId: id };
    expect((await api.send("GET", `/v2/events/search?sourceId=${id}`)).text).toContain(shown);
    const read = await api.client.call("GET /v2/events/search", { query });
    expect(JSON.stringify(read.events)).toContain(shown);
  });

  test("feeds a replay, by its events and by its filter", async () => {
    const { events } = await search({ sourceId: shop });
    const ids = events.map(({ messageId }: any) => messageId);
    const replayed = async (filter: object) => {
      const from = new Date(Date.now() - 3_600_000).toISOString();
      const body = { destinationId: refused.id, from, filter };
      const { replay } = (await api.send("POST", "/v2/replays", { body })).body;
      const read = async () => (await api.send("GET", `/v2/replays/${replay.id}`)).body.replay;
      let now = await read();
      for (; now.state === "running"; now = await read()) await Bun.sleep(10);
      return now.counts.done;
    };
    expect(await replayed({ messageIds: [ids[1].toUpperCase()] })).toBe(1);
    expect(await replayed({ messageIds: ids.slice(1) })).toBe(2);
    expect(await replayed({ property: "properties.plan=pro" })).toBe(1);
    expect(await replayed({ text: "nowhere" })).toBe(0);
  });
});
