import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { until } from "../../until.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
let takes = false;
const taken: any[] = [];
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    if (takes) taken.push(await request.json());
    return new Response(null, { status: takes ? 200 : 400 });
  },
});
beforeAll(async () => {
  api = await startApi();
});
afterAll(async () => {
  await api.stop();
  await receiver.stop(true);
});

describe("why a delivery failed", () => {
  test("is kept with the dead letter and its group, without the secrets that the receiver repeats", async () => {
    const echo = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async (request) => {
        const got = { headers: Object.fromEntries(request.headers), url: request.url };
        const headers = { "x-request-id": "r-1", "x-own": "hidden", location: request.url };
        return new Response(JSON.stringify(got) + "z".repeat(4_000), { status: 422, headers });
      },
    });
    const secrets = ["9f8e7d6c-5b4a-4c3d-8e1f", "token-in-the-url-1"];
    const config = {
      webhookUrl: `${echo.url.href}hook?token=${secrets[1]}`,
      headers: [{ from: "X-Api-Key", to: secrets[0] }],
    };
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "Echo", type: "webhook", config },
    });
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Echo" } });
    await api.client.call("POST /v2/connections", {
      body: { sourceId: source.id, destinationId: destination.id },
    });
    const id = destination.id;
    const failure = () => api.client.call("GET /v2/destinations/{id}/failure", { params: { id } });
    expect(await failure()).toEqual({});
    await api.page(source.id, "anonymousId=a");
    const query = { destinationId: id };
    const list = () => api.client.call("GET /v2/dead-letters", { query });
    await until(async () => (await list()).paging.total === 1);
    const [letter] = (await list()).deadLetters;
    const response = letter!.response!;
    expect(response).toMatchObject({ status: 422, isCut: true });
    expect(Object.keys(response.headers!).sort()).toEqual([
      "content-type",
      "location",
      "x-request-id",
    ]);
    expect(response.headers!.location).toBe(`${echo.url.href}hook?token=***`);
    // The last 64 characters are left out: a secret might begin in them.
    expect(response.body!.length).toBeGreaterThan(2_048 - 64);
    expect(response.body!.length).toBeLessThanOrEqual(2_048);
    expect(response.body).toContain('"x-api-key":"***"');
    expect(letter!.failedAttempts).toMatchObject([{ status: 422, reason: letter!.reason }]);
    const group = await api.client.call("GET /v2/dead-letter-groups/{id}", {
      params: { id: letter!.groupId! },
    });
    expect(group.deadLetterGroup.responses).toEqual([{ at: letter!.createdAt, response }]);
    const last = await failure();
    expect(last.failure).toMatchObject({ reason: "HTTP 422 from receiver", response });
    const shown = JSON.stringify([letter, group, last]);
    for (const secret of secrets) expect(shown).not.toContain(secret);
    await echo.stop(true);
    await api.client.call("POST /v2/dead-letters/purge", { body: { filter: query } });
  }, 300_000);
});

describe("a replay of dead letters", () => {
  test("fails when its events fail again, with the reasons; a purge deletes only the confirmed letters", async () => {
    let status = 422;
    const refusing = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response(null, { status }),
    });
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "R", type: "webhook", config: { webhookUrl: refusing.url.href } },
    });
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "R" } });
    await api.client.call("POST /v2/connections", {
      body: { sourceId: source.id, destinationId: destination.id },
    });
    const query = { destinationId: destination.id };
    const groups = () => api.client.call("GET /v2/dead-letter-groups", { query });
    const send = async (count: number, total: number) => {
      for (let n = 0; n < count; n++) await api.page(source.id, "anonymousId=a");
      await until(async () => (await groups()).letters === total);
      return await groups();
    };
    const ended = async (id: string) => {
      const params = { id };
      for (;;) {
        const { replay } = await api.client.call("GET /v2/replays/{id}", { params });
        if (replay.state !== "running") return replay;
        await Bun.sleep(10);
      }
    };
    const shown = await send(2, 2);
    status = 403;
    const all = { filter: query, all: true, expected: 2, before: shown.asOf };
    const { replay } = await api.client.call("POST /v2/dead-letters/replay", { body: all });
    const again = await ended(replay!.id);
    expect(again).toMatchObject({
      kind: "dead-letters",
      state: "failed",
      destinationId: destination.id,
      counts: { done: 2, moved: 2, delivered: 0, failed: 2, pending: 0 },
      failures: [{ reason: "HTTP 403 from receiver", count: 2 }],
      startedBy: { name: "test" },
    });
    const [group] = (await groups()).deadLetterGroups;
    expect(again.failures![0]!.groupId).toBe(group!.id);

    // One of two is delivered this time, and a single one leaves a record too.
    status = 200;
    const [one] = (await api.client.call("GET /v2/dead-letters", { query })).deadLetters;
    const single = await api.client.call("POST /v2/dead-letters/replay", {
      body: { ids: [one!.id] },
    });
    expect(single.replayed).toBe(1);
    expect(await ended(single.replay!.id)).toMatchObject({
      state: "done",
      isSelection: true,
      reason: "HTTP 403 from receiver",
      counts: { delivered: 1, failed: 0 },
    });

    status = 403;
    const before = await groups();
    expect(before.letters).toBe(1);
    const grown = await send(2, 3);
    const purge = (body: object) => api.send("POST", "/v2/dead-letters/purge", { body });
    const filter = { groupIds: grown.deadLetterGroups.map(({ id }) => id) };
    for (const size of [{ all: true }, {}]) {
      const refused = await purge({ ...size, filter, expected: 1 });
      expect(refused).toMatchObject({ status: 412, body: { current: { count: 3 } } });
    }
    const some = await purge({ filter, expected: 1, before: grown.asOf });
    const error = "Expected at most 1 dead letters, got at least 3; nothing was changed";
    expect(some).toMatchObject({ status: 412, body: { message: error } });
    expect((await groups()).letters).toBe(3);
    const two = await purge({ filter, expected: 1, before: before.asOf });
    expect(two).toMatchObject({ status: 200, body: { purged: 1 } });
    const rest = await purge({ filter, expected: 2, all: true, before: grown.asOf });
    await ended(rest.body.replay.id);
    expect((await groups()).letters).toBe(0);
    await refusing.stop(true);
  }, 300_000);
});

describe("/v2/dead-letters", () => {
  test("are listed page by page, replayed and purged", async () => {
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "S" } });
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "D", type: "webhook", config: { webhookUrl: receiver.url.href } },
    });
    await api.client.call("POST /v2/connections", {
      body: { sourceId: source.id, destinationId: destination.id },
    });
    for (let n = 0; n < 5; n++) await api.page(source.id, `anonymousId=a&properties.n=${n}`);
    const list = (query = "") => api.send("GET", `/v2/dead-letters${query}`);
    await until(async () => (await list()).body.paging.total === 5);

    const first = (await list("?count=2")).body;
    expect(first.deadLetters[0]).toEqual({
      id: expect.any(String),
      sourceId: source.id,
      destinationId: destination.id,
      messageId: expect.any(String),
      stage: "deliver",
      reason: expect.any(String),
      attempts: 1,
      failedAttempts: [
        {
          at: expect.any(String),
          durationMs: expect.any(Number),
          status: 400,
          reason: "HTTP 400 from receiver",
        },
      ],
      groupId: expect.stringContaining(destination.id),
      response: { status: 400 },
      event: expect.objectContaining({ type: "page", properties: { n: 0 } }),
      receivedAt: expect.any(String),
      createdAt: expect.any(String),
    });
    expect(first.paging).toEqual({
      total: 5,
      next: `/dead-letters?count=2&after=${first.deadLetters[1].id}`,
    });
    const second = (await api.send("GET", `/v2${first.paging.next}`)).body;
    const third = (await api.send("GET", `/v2${second.paging.next}`)).body;
    expect(third.paging).toEqual({ total: 5 });
    expect((await list("?count=5")).body.paging).toEqual({ total: 5 });
    const letters = [first, second, third].flatMap((page) => page.deadLetters);
    expect(letters.map((it: any) => it.event.properties.n)).toEqual([0, 1, 2, 3, 4]);
    const [one, two, ...others] = letters.map((it: any) => it.id);

    const params = { id: one };
    const { deadLetter } = await api.client.call("GET /v2/dead-letters/{id}", { params });
    expect(deadLetter).toEqual(first.deadLetters[0]);
    const filtered = await list("?destinationId=unknown");
    expect(filtered.body).toMatchObject({ deadLetters: [], paging: { total: 0 } });
    const its = await list(`?destinationId=${destination.id}`);
    expect(its.body).toMatchObject({ deadLetters: letters, paging: { total: 5 } });

    const purged = await api.client.call("POST /v2/dead-letters/purge", {
      body: { ids: [one, "unknown", one] },
    });
    expect(purged).toMatchObject({ purged: 1 });
    expect((await api.send("GET", `/v2/dead-letters/${one}`)).status).toBe(404);

    takes = true;
    const replayed = await api.client.call("POST /v2/dead-letters/replay", {
      body: { ids: [two, ...others, one, two] },
    });
    expect(replayed).toMatchObject({ replayed: 4 });
    await until(() => taken.length === 4);
    expect(taken.map((event) => event.properties.n).sort()).toEqual([1, 2, 3, 4]);
    await until(async () => (await list()).body.paging.total === 0);
  }, 300_000);

  test("are grouped by their reason, and a whole group is replayed or purged by its filter", async () => {
    takes = false;
    const body = { name: "G", type: "webhook", config: { webhookUrl: receiver.url.href } };
    const { destination } = await api.client.call("POST /v2/destinations", { body });
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "G" } });
    await api.client.call("POST /v2/connections", {
      body: { sourceId: source.id, destinationId: destination.id },
    });
    for (let n = 0; n < 5; n++) await api.page(source.id, `anonymousId=a&properties.n=${n}`);
    const groups = async () =>
      (await api.client.call("GET /v2/dead-letter-groups")).deadLetterGroups.filter(
        (group) => group.destinationId === destination.id,
      );
    await until(async () => (await groups())[0]?.count === 5);
    const [group] = await groups();
    expect(group).toEqual({
      id: expect.stringContaining(destination.id),
      destinationId: destination.id,
      stage: "deliver",
      reason: "HTTP 400 from receiver",
      status: 400,
      count: 5,
      firstAt: expect.any(String),
      lastAt: expect.any(String),
    });
    const filter = { groupId: group!.id };
    const found = await api.client.call("GET /v2/dead-letters", { query: filter });
    expect([found.deadLetters.length, found.paging.total]).toEqual([5, 5]);

    const past = { filter, before: "2020-01-01T00:00:00.000Z" };
    const none = await api.client.call("POST /v2/dead-letters/purge", { body: past });
    expect(none).toMatchObject({ purged: 0, more: false, before: past.before });
    const some = await api.client.call("POST /v2/dead-letters/purge", {
      body: { filter, count: 2 },
    });
    expect(some).toMatchObject({ purged: 2, more: true, before: expect.any(String) });
    const other = await api.tokenWith(["events:read", "events:replay"], "another");
    const strange = { body: { filter }, token: other };
    expect((await api.send("POST", "/v2/dead-letters/purge", strange)).body).toMatchObject({
      purged: 0,
      more: false,
    });
    const strangers = await api.send("GET", `/v2/dead-letters?groupId=${group!.id}`, {
      token: other,
    });
    expect(strangers.body).toMatchObject({ deadLetters: [], paging: { total: 0 } });

    takes = true;
    const rest = await api.client.call("POST /v2/dead-letters/replay", { body: { filter } });
    expect(rest).toMatchObject({ replayed: 3, more: false });
    await until(async () => (await groups()).length === 0);
  }, 300_000);

  test.each([
    {},
    { ids: ["a"], filter: {} },
    { filter: { groupId: 1 } },
    { ids: [] },
    { ids: "all" },
    { ids: [1] },
    { filter: {}, befor: "2026-01-01T00:00:00Z" },
  ])("refuse to replay %p", async (body) => {
    for (const verb of ["replay", "purge"]) {
      expect((await api.send("POST", `/v2/dead-letters/${verb}`, { body })).status).toBe(400);
    }
  });
});

describe("dead letters by a filter", () => {
  test.each(["replay", "purge"])(
    "are not all taken by a %s whose filter has a misspelt key",
    async (verb) => {
      for (const all of [undefined, true]) {
        const send = async (filter: object) =>
          (await api.send("POST", `/v2/dead-letters/${verb}`, { body: { filter, all } })).body;
        const like = 'Unknown key "destinatonId", did you mean destinationId?';
        expect(await send({ destinatonId: "a" })).toMatchObject({
          message: 'Unknown key "destinatonId" at /filter, did you mean destinationId?',
          details: [{ path: "/filter", message: like }],
        });
        const { message } = await send({ "a/b~c": "a" });
        expect(message).toStartWith(
          "Unknown key at /filter, expected one of destinationId, groupId, reason,",
        );
      }
    },
  );

  test("are replayed and purged by a job with `all`", async () => {
    takes = false;
    taken.length = 0;
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "S" } });
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "D", type: "webhook", config: { webhookUrl: receiver.url.href } },
    });
    await api.client.call("POST /v2/connections", {
      body: { sourceId: source.id, destinationId: destination.id },
    });
    for (let n = 0; n < 6; n++) await api.page(source.id, `anonymousId=a&properties.n=${n}`);
    const filter = { destinationId: destination.id, reason: "HTTP 400" };
    const query = new URLSearchParams(filter);
    const list = async () => (await api.send("GET", `/v2/dead-letters?${query}`)).body.deadLetters;
    await until(async () => (await list()).length === 6);
    const from = (await list())[4].createdAt;
    query.set("from", from);
    const later = (await list()).length;
    query.delete("from");

    takes = true;
    const send = (verb: string, body: object) =>
      api.send("POST", `/v2/dead-letters/${verb}`, { body });
    const over = async (id: string) => {
      const get = async () => (await api.send("GET", `/v2/replays/${id}`)).body.replay;
      await until(async () => (await get()).state === "done");
      return await get();
    };
    const replayed = (await send("replay", { filter: { ...filter, to: from }, all: true })).body;
    expect(replayed).toMatchObject({ replayed: 0, replay: { kind: "dead-letters", filter } });
    expect((await over(replayed.replay.id)).counts.moved).toBe(6 - later);
    await until(() => taken.length === 6 - later);
    const purged = (await send("purge", { filter, all: true })).body;
    expect(purged).toMatchObject({ purged: 0, replay: { kind: "purge" } });
    expect(await over(purged.replay.id)).toMatchObject({ progress: 1, counts: { moved: later } });
    expect(await list()).toEqual([]);
    const refused = await send("purge", { ids: ["a"], all: true });
    expect(refused.status).toBe(400);
    expect(refused.body.message).toBe("Expected a filter beside all, and no ids at /all");
  });
});
