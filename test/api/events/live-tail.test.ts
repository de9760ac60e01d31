import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { connect } from "node:net";
import { createClient } from "../../../src/api/client.ts";
import type { TailMessage } from "../../../src/pipeline/live-tail.ts";
import { TAILS_MAX, TAILS_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";
import { until } from "../../until.ts";
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

  test("ends at a client when nothing comes any more, although the connection is open", async () => {
    const silent = new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
    const fetch = async () => silent;
    const waits: number[] = [];
    const { setTimeout } = globalThis;
    const atOnce = (act: () => void, ms = 0) => {
      waits.push(ms);
      return setTimeout(act, 0);
    };
    using _ = spyOn(globalThis, "setTimeout").mockImplementation(atOnce as typeof setTimeout);
    const client = createClient({
      baseUrl: "",
      fetch: fetch as unknown as typeof globalThis.fetch,
    });
    expect((await client.follow().next()).done).toBe(true);
    // The server in this process may set timers meanwhile.
    expect(waits.filter((ms) => ms > 0)).toEqual([20_000]);
  });

  test("leaves no rejection when its silence ends after it was aborted", async () => {
    const source = Promise.withResolvers<ReadableStreamDefaultController>();
    const body = new ReadableStream({ start: source.resolve });
    const silences: (() => void)[] = [];
    const keep = (act: () => void) => void silences.push(act);
    const rejected: unknown[] = [];
    const listener = (error: unknown) => rejected.push(error);
    process.on("unhandledRejection", listener);
    try {
      const client = createClient({
        baseUrl: "",
        fetch: (async () => new Response(body)) as unknown as typeof globalThis.fetch,
      });
      const stream = await source.promise;
      stream.enqueue(Buffer.from("event: received\ndata: {}\n\n"));
      using _ = spyOn(globalThis, "setTimeout").mockImplementation(keep as never);
      expect((await client.follow().next()).done).toBe(false);
      stream.error(new Error("aborted"));
      for (const end of silences) end();
    } finally {
      // A rejection is reported after the microtasks of its turn.
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      process.off("unhandledRejection", listener);
    }
    expect([silences.length > 0, rejected]).toEqual([true, []]);
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

  test("is limited per workspace and in total, and its end releases its permit", async () => {
    const open = async (token: string) => {
      const stop = new AbortController();
      const { signal } = stop;
      const headers = { Authorization: `Bearer ${token}` };
      // The caller keeps the response: Bun ends the request of one that was collected.
      return { response: await fetch(`${api.url}/v2/events`, { headers, signal }), stop };
    };
    const newWorkspace = async () => (await api.catalog.workspaces.create("Other")).id;
    // A token for each tail: the tails of a workspace count together.
    const openAll = (workspaceId: string) =>
      Promise.all(
        Array.from({ length: TAILS_OF_WORKSPACE_MAX }, async () =>
          open(await api.tokenWith(["events:read"], workspaceId)),
        ),
      );
    const tails = await openAll(api.workspaceId);
    expect(new Set(tails.map(({ response }) => response.status))).toEqual(new Set([200]));
    const token = await api.tokenWith(["events:read"]);
    const refused = await api.send("GET", "/v2/events", { token });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(refused.body.message).toStartWith("Expected at most 10 live tails of a workspace");

    while (tails.length < TAILS_MAX) tails.push(...(await openAll(await newWorkspace())));
    expect(new Set(tails.map(({ response }) => response.status))).toEqual(new Set([200]));
    const last = await api.tokenWith(["events:read"], await newWorkspace());
    expect((await api.send("GET", "/v2/events", { token: last })).status).toBe(429);

    for (const { stop } of tails) stop.abort();
    await until(() => api.followers() === 0);
    const again = await open(token);
    expect(again.response.status).toBe(200);
    again.stop.abort();
    await until(() => api.followers() === 0);
  }, 300_000);

  test("encodes a message once for all subscribers", async () => {
    let encodings = 0;
    const counted = (bytes: number) =>
      message({
        event: {
          toJSON() {
            encodings += 1;
            return "x".repeat(bytes);
          },
        },
      });
    const stops = Array.from({ length: 5 }, () => new AbortController());
    const tails = stops.map(({ signal }) => api.client.follow({}, signal));
    const next = () => Promise.all(tails.map((tail) => tail.next()));
    const first = next();
    await until(() => api.followers() === tails.length);
    api.tell(api.workspaceId, counted(10));
    expect((await first).map(({ value }) => value?.name)).toEqual(tails.map(() => "received"));
    expect(encodings).toBe(1);
    for (const stop of stops) stop.abort();
    await Promise.all(tails.map((tail) => tail.next().catch(() => {})));
    await until(() => api.followers() === 0);
  });

  test("needs events:read", async () => {
    const token = await api.tokenWith(["workspace:admin"]);
    expect((await api.send("GET", "/v2/events", { token })).status).toBe(403);
  });
});
