import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ANSWER_BODY_BYTES_MAX } from "../../../src/destinations/limits.ts";
import { CONNECTION_TESTS_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";
import { RawSink } from "../../egress/sink.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

async function webhook(webhookUrl: string, over: Record<string, unknown> = {}): Promise<string> {
  const body = { name: "Hook", type: "webhook", config: { webhookUrl, ...over } };
  return (await api.send("POST", "/v2/destinations", { body })).body.destination.id;
}

const tried = async (id: string) => await api.send("POST", `/v2/destinations/${id}/test`);

test("a connection test answers each step with its time, and the message of the failed step", async () => {
  const events: { event: string }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      events.push((await request.json()) as { event: string });
      return new Response(null, { status: request.url.endsWith("/closed") ? 401 : 200 });
    },
  });
  const good = await tried(await webhook(server.url.href));
  const step = (name: string) => ({ step: name, ok: true, durationMs: expect.any(Number) });
  const reached = [step("resolve"), step("connect")];
  const written = { ...step("write"), response: { status: 200 } };
  expect(good.body).toEqual({ ok: true, steps: [...reached, written] });
  const closed = await tried(await webhook(`${server.url.href}closed`));
  const message = "HTTP 401 from receiver";
  const failed = { ...step("write"), ok: false, message, response: { status: 401 } };
  expect(closed.body).toEqual({ ok: false, steps: [...reached, failed] });
  expect(events.map(({ event }) => event)).toEqual(["Connection test", "Connection test"]);
  await server.stop(true);
});

test("a connection test shows the beginning of the receiver's answer, without secrets that it repeats", async () => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ headers }) =>
      new Response(`plan is unknown for ${headers.get("x-api-key")} ${"é".repeat(3_000)}`, {
        status: 422,
        headers: { "x-request-id": "r-1", location: `/?key=${headers.get("x-api-key")}` },
      }),
  });
  const config = {
    webhookUrl: server.url.href,
    headers: [{ from: "X-Api-Key", to: "private-key-1" }],
  };
  const body = { type: "webhook", config };
  const answers = [
    await tried(await webhook(config.webhookUrl, { headers: config.headers })),
    await api.send("POST", "/v2/destinations/test", { body }),
  ];
  for (const answer of answers) {
    expect(JSON.stringify(answer.body)).not.toContain("private-key");
    const { response } = answer.body.steps.at(-1);
    expect(response).toMatchObject({
      status: 422,
      headers: { "x-request-id": "r-1", location: "/?key=***" },
      isCut: true,
    });
    expect(response.body).toStartWith("plan is unknown for *** é");
    const bytes = Buffer.byteLength(response.body);
    expect(bytes).toBeLessThanOrEqual(ANSWER_BODY_BYTES_MAX);
    // The last 64 characters of two bytes each are left out: a secret might begin in them.
    expect(bytes).toBeGreaterThan(ANSWER_BODY_BYTES_MAX - 2 * 64);
  }
  await server.stop(true);
});

test("a file destination's test leaves no file behind", async () => {
  const body = { name: "File", type: "file", config: { path: "a/b.jsonl" } };
  const { id } = (await api.send("POST", "/v2/destinations", { body })).body.destination;
  const { steps } = await api.client.call("POST /v2/destinations/{id}/test", { params: { id } });
  expect(steps.map(({ step, ok }) => [step, ok])).toEqual([
    ["write", true],
    ["clean-up", true],
  ]);
});

test("a workspace has few tests at once, and each releases its permit", async () => {
  // Answers nothing until all have asked, then hangs up.
  const asked = Promise.withResolvers<void>();
  const silent = new RawSink((socket) => void asked.promise.then(() => socket.destroy()));
  const port = await silent.listen();
  const id = await webhook(`http://127.0.0.1:${port}/`);
  const count = CONNECTION_TESTS_OF_WORKSPACE_MAX + 2;
  let refusals = 0;
  const answers = await Promise.all(
    Array.from({ length: count }, async () => {
      const answer = await tried(id);
      if (answer.status === 429) refusals += 1;
      if (refusals === 2) asked.resolve();
      return answer;
    }),
  );
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses.slice(-2)).toEqual([429, 429]);
  expect(statuses.slice(0, -2)).toEqual(Array(count - 2).fill(200));
  const refused = answers.find(({ status }) => status === 429)!;
  expect(refused.headers.get("retry-after")).toBe("5");
  const again = await tried(id);
  expect([again.status, again.body.ok]).toEqual([200, false]);
  expect(again.body.steps.at(-1)).toMatchObject({ step: "write", ok: false });
  silent.close();
});

describe("settings that are not saved", () => {
  const sent: (string | null)[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      sent.push(request.headers.get("x-api-key"));
      return new Response();
    },
  });
  const { url: webhookUrl } = server;
  afterAll(() => server.stop(true));
  const tryOut = (body: object) => api.send("POST", "/v2/destinations/test", { body });

  test("are tried out, and nothing is stored", async () => {
    const { total } = (await api.send("GET", "/v2/destinations")).body.paging;
    const { status, body } = await tryOut({ type: "Webhook", config: { webhookUrl } });
    expect([status, body.ok]).toEqual([200, true]);
    expect((await api.send("GET", "/v2/destinations")).body.paging.total).toBe(total);
  });

  test("are refused like those of a new destination, each fault at its path", async () => {
    for (const config of [{ webhookUrl: "no" }, { webhookUrl, batchSize: 0 }, { other: 1 }]) {
      const body = { name: "Hook", type: "webhook", config };
      const created = await api.send("POST", "/v2/destinations", { body });
      const { status, body: answer } = await tryOut({ type: "webhook", config });
      expect([status, answer]).toEqual([400, created.body]);
      expect(answer.details[0].path).toMatch(/^\/config/);
    }
    const missing = await tryOut({ type: "s3", config: {} });
    expect(missing.body.details.map(({ path }: { path: string }) => path)).toContain(
      "/config/bucket",
    );
    expect((await tryOut({ type: "pigeon", config: {} })).body.details[0].path).toBe("/type");
  });

  test("use the stored secrets of a destination, and send them to no other host", async () => {
    const headers = [{ from: "X-Api-Key", to: "stored" }];
    const destinationId = await webhook(webhookUrl.href, { headers });
    const blank = [{ from: "X-Api-Key", to: "" }];
    const same = { type: "webhook", destinationId, config: { webhookUrl, headers: blank } };
    sent.length = 0;
    expect((await tryOut(same)).body.ok).toBe(true);
    expect(sent).toEqual(["stored"]);
    const moved = { webhookUrl: "http://127.0.0.1:9/", headers: blank };
    const refused = await tryOut({ ...same, config: moved });
    expect(refused.status).toBe(400);
    expect(refused.body.details[0].path).toBe("/config/headers/0/to");
    const otherType = await tryOut({ ...same, type: "file", config: { path: "a.jsonl" } });
    expect(otherType.body.details[0].path).toBe("/type");
    const unknown = await tryOut({ ...same, destinationId: "unknown" });
    expect(unknown.status).toBe(404);
    // A destination of another workspace is unknown.
    const other = await api.catalog.workspaces.create("Other");
    const token = await api.tokenWith(["workspace:admin"], other.id);
    const foreign = await api.send("POST", "/v2/destinations/test", { body: same, token });
    expect(foreign.status).toBe(404);
    expect(sent).toHaveLength(1);
  });
});
