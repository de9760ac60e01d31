import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "./_setup.ts";

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

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(10);
}

describe("/v2/dead-letters", () => {
  test("list what was not delivered, page by page, replay it and purge it", async () => {
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
    expect(filtered.body).toEqual({ deadLetters: [], paging: { total: 0 } });
    const its = await list(`?destinationId=${destination.id}`);
    expect(its.body).toEqual({ deadLetters: letters, paging: { total: 5 } });

    const purged = await api.client.call("POST /v2/dead-letters/purge", {
      body: { ids: [one, "unknown", one] },
    });
    expect(purged).toEqual({ purged: 1 });
    expect((await api.send("GET", `/v2/dead-letters/${one}`)).status).toBe(404);

    takes = true;
    const replayed = await api.client.call("POST /v2/dead-letters/replay", {
      body: { ids: [two, ...others, one, two] },
    });
    expect(replayed).toEqual({ replayed: 4 });
    await until(() => taken.length === 4);
    expect(taken.map((event) => event.properties.n).sort()).toEqual([1, 2, 3, 4]);
    await until(async () => (await list()).body.paging.total === 0);
  }, 30_000);

  test.each([{}, { ids: [] }, { ids: "all" }, { ids: [1] }])(
    "refuse to replay %p",
    async (body) => {
      for (const verb of ["replay", "purge"]) {
        expect((await api.send("POST", `/v2/dead-letters/${verb}`, { body })).status).toBe(400);
      }
    },
  );
});
