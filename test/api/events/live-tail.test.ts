import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { TailMessage } from "../../../src/pipeline/live-tail.ts";
import { TAILS_MAX, TAILS_OF_TOKEN_MAX } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const message = (more: Partial<TailMessage> = {}): TailMessage => ({
  stage: "received",
  sourceId: "s1",
  at: Date.parse("2026-01-02T03:04:05.678Z"),
  messageId: "m1",
  event: { text: "line\nbreak" },
  ...more,
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(5);
}

describe("GET /v2/events", () => {
  test("follows the events of its workspace and filter, and ends with its reader", async () => {
    const reader = new AbortController();
    const tail = api.client.follow({ sourceId: "s1" }, reader.signal);
    const first = tail.next();
    await until(() => api.followers() === 1);
    api.tell("another workspace", message({ messageId: "m0" }));
    api.tell(api.workspaceId, message({ sourceId: "s2" }));
    api.tell(api.workspaceId, message());
    expect((await first).value).toEqual({
      name: "received",
      data: { ...message(), at: "2026-01-02T03:04:05.678Z" },
    });
    api.tell(api.workspaceId, message({ stage: "dead-letter", reason: "No" }));
    expect((await tail.next()).value).toMatchObject({
      name: "dead-letter",
      data: { reason: "No" },
    });
    reader.abort();
    await tail.next().catch(() => {});
    await until(() => api.followers() === 0);
  });

  test("drops messages that a slow reader does not take", async () => {
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
    let received = "";
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
    });
    socket.write(
      `GET /v2/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\n\r\n`,
    );
    await until(() => received.includes(": connected"));
    socket.pause();
    const before = process.memoryUsage.rss();
    const large = "x".repeat(100_000);
    for (let n = 0; n < 2_000; n++) {
      api.tell(api.workspaceId, message({ event: { large } }));
      if (n % 20 === 0) await Bun.sleep(1);
      if (n % 200 === 0) Bun.gc(true);
    }
    // 200 MB were sent; only the socket's buffers and the stream's bound are kept.
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 << 20);
    socket.resume();
    await until(() => {
      api.tell(api.workspaceId, message());
      return received.includes("event: missed\ndata: ");
    });
    socket.destroy();
    await until(() => api.followers() === 0);
  }, 300_000);

  test("ends when its token is revoked, and when the server stops", async () => {
    const other = await startApi();
    const secret = await other.tokenWith(["events:read"]);
    const ended = (async () => {
      const response = await fetch(`${other.url}/v2/events`, {
        headers: { Authorization: `Bearer ${secret}` },
      });
      return response.text();
    })();
    await until(() => other.followers() === 1);
    const { tokens } = await other.client.call("GET /v2/tokens");
    const revoked = tokens.find((it) => it.permissions.length === 1);
    await other.client.call("DELETE /v2/tokens/{id}", { params: { id: revoked!.id } });
    expect(await ended).toStartWith(": connected\n\n");
    expect(other.followers()).toBe(0);

    const tail = other.client.follow();
    const end = tail.next();
    await until(() => other.followers() === 1);
    await other.stop();
    expect((await end).done).toBe(true);
  }, 300_000);

  test("is limited per token and in total, and its end releases its permit", async () => {
    const open = async (token: string) => {
      const stop = new AbortController();
      const { signal } = stop;
      const headers = { Authorization: `Bearer ${token}` };
      // The caller keeps the response: Bun ends the request of one that was collected.
      return { response: await fetch(`${api.url}/v2/events`, { headers, signal }), stop };
    };
    const token = await api.tokenWith(["events:read"]);
    const tails = await Promise.all(Array.from({ length: TAILS_OF_TOKEN_MAX }, () => open(token)));
    expect(new Set(tails.map(({ response }) => response.status))).toEqual(new Set([200]));
    const refused = await api.send("GET", "/v2/events", { token });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(refused.body.message).toStartWith("Expected at most 10 live tails of a token");

    const others = Math.ceil(TAILS_MAX / TAILS_OF_TOKEN_MAX) - 1;
    const tokens = await Promise.all(
      Array.from({ length: others }, () => api.tokenWith(["events:read"])),
    );
    const left = Array.from({ length: TAILS_MAX - tails.length }, (_, n) => tokens[n % others]!);
    tails.push(...(await Promise.all(left.map(open))));
    expect(new Set(tails.map(({ response }) => response.status))).toEqual(new Set([200]));
    const last = await api.tokenWith(["events:read"]);
    expect((await api.send("GET", "/v2/events", { token: last })).status).toBe(429);

    for (const { stop } of tails) stop.abort();
    await until(() => api.followers() === 0);
    const again = await open(token);
    expect(again.response.status).toBe(200);
    again.stop.abort();
    await until(() => api.followers() === 0);
  }, 300_000);

  test("needs events:read", async () => {
    const token = await api.tokenWith(["workspace:admin"]);
    expect((await api.send("GET", "/v2/events", { token })).status).toBe(403);
  });
});
