import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ApiDeps } from "../../../src/api/deps.ts";
import { SEARCHES_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";
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
    expect([foreign.status, foreign.body.details[0].path]).toEqual([400, "/cursor"]);
    for (let at = 0; at < one.length; at += 7) {
      const changed = one.slice(0, at) + (one[at] === "A" ? "B" : "A") + one.slice(at + 1);
      const { status } = await api.send("GET", `/v2/events/search?cursor=${changed}`);
      expect([at, status]).toEqual([at, 400]);
    }
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
        "messageId=x",
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
