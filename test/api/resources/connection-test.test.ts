import { afterAll, beforeAll, expect, test } from "bun:test";
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
  expect(good.body).toEqual({ ok: true, steps: [...reached, step("write")] });
  const closed = await tried(await webhook(`${server.url.href}closed`));
  const message = "The receiver answered 401";
  const failed = { ...step("write"), ok: false, message };
  expect(closed.body).toEqual({ ok: false, steps: [...reached, failed] });
  expect(events.map(({ event }) => event)).toEqual(["Connection test", "Connection test"]);
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
