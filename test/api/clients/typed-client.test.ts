import { expect, test } from "bun:test";
import { createClient, RequestRefused } from "../../../src/api/client.ts";

interface Sent {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}

/** A client whose requests a function answers. */
function clientOf(answer: () => Response, token?: string) {
  const sent: Sent[] = [];
  const fetch = async (url: string, init: object) => {
    sent.push({ url, ...init });
    return answer();
  };
  const client = createClient({
    ...{ baseUrl: "http://x", fetch: fetch as unknown as typeof globalThis.fetch },
    ...(token !== undefined && { token }),
  });
  return { client, sent };
}

test("a request has the path, the query and the headers of its route and its options", async () => {
  const { client, sent } = clientOf(() => Response.json({}), "pm_t");
  const id = "a/b?";
  await client.call("GET /v2/sources/{id}", { params: { id } });
  await client.call("GET /v2/sources", {
    query: { page: 2, text: "a b", hasExternalId: undefined } as never,
  });
  await client.call("PUT /v2/sources/{id}", {
    params: { id: "c" },
    body: { name: "N" },
    ifMatch: '"t"',
  });
  const authorization = { Authorization: "Bearer pm_t" };
  const json = { "Content-Type": "application/json" };
  expect(sent).toStrictEqual([
    { url: "http://x/v2/sources/a%2Fb%3F", method: "GET", headers: authorization },
    { url: "http://x/v2/sources?page=2&text=a+b", method: "GET", headers: authorization },
    {
      ...{ url: "http://x/v2/sources/c", method: "PUT", body: '{"name":"N"}' },
      headers: { ...authorization, ...json, "If-Match": '"t"' },
    },
  ]);
});

test("a client without a token sends none, and a request without a body names its type all the same", async () => {
  const { client, sent } = clientOf(() => new Response(null, { status: 204 }));
  const { answer, tag } = await client.callTagged("DELETE /v2/sources/{id}", {
    params: { id: "a" },
  });
  expect([answer, tag]).toEqual([undefined, undefined]);
  expect(sent).toStrictEqual([
    {
      ...{ url: "http://x/v2/sources/a", method: "DELETE" },
      headers: { "Content-Type": "application/json" },
    },
  ]);
});

test("an answer is JSON with its tag, or the text of another type", async () => {
  const headers = { "Content-Type": "application/json;charset=utf-8", ETag: '"t"' };
  const tagged = clientOf(() => new Response('{"a":1}', { headers })).client;
  const json: { answer: unknown; tag: unknown } = await tagged.callTagged("GET /health");
  expect(json).toEqual({ answer: { a: 1 }, tag: '"t"' });
  headers.ETag = 'W/"t"';
  expect((await tagged.callTagged("GET /health")).tag).toBe('"t"');
  const text = clientOf(
    () => new Response('{"a":1}', { headers: { "Content-Type": "text/plain" } }),
  );
  expect(await text.client.call("GET /metrics")).toBe('{"a":1}');
});

/** The refusal that a client makes of an answer. */
async function refusalOf(body: unknown, status: number, headers = {}): Promise<RequestRefused> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const { client } = clientOf(() => new Response(text, { status, headers }));
  const error = await client.call("GET /health").catch((it: unknown) => it);
  if (error instanceof RequestRefused) return error;
  throw new Error("Expected a refusal");
}

test("a refusal has the message, the faults and the pause that the server names", async () => {
  const details = [{ path: "/a", message: "Expected a" }];
  const named = await refusalOf({ message: "Expected b", details }, 429, { "Retry-After": "7" });
  expect(named).toMatchObject({ status: 429, message: "Expected b", details, retryAfter: 7 });
  expect(named.changed).toBeUndefined();
  for (const body of ["<html>", "null", "{}"]) {
    const unnamed = await refusalOf(body, 502, { "Retry-After": body === "{}" ? "" : "soon" });
    expect(unnamed).toMatchObject({ status: 502, message: "The server answered 502", details: [] });
    expect(unnamed.retryAfter).toBeUndefined();
  }
});

test("a refusal of an outdated change has the current state, its tag, and the state that was changed", async () => {
  const states = { current: { a: 2 }, base: { a: 1 } };
  const { changed, retryAfter } = await refusalOf({ message: "It changed", ...states }, 412, {
    ETag: '"t"',
  });
  expect(changed).toEqual({ ...states, tag: '"t"' });
  expect(retryAfter).toBeUndefined();
});

/** A stream of the live tail that comes in these chunks, and stays open then if `isOpen`. */
function tailOf(chunks: Uint8Array[], isOpen = false) {
  const state = { isCancelled: false };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      if (!isOpen) controller.close();
    },
    cancel() {
      state.isCancelled = true;
    },
  });
  return { state, ...clientOf(() => new Response(body)) };
}
const parts = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test("the live tail has each message with a name and data, wherever the chunks are cut", async () => {
  const text =
    ': connected\n\nevent: received\ndata: {"n":12345678901234567,"t":"é"}\n\nevent: none\n\n' +
    'data: {}\n\nevent: missed\ndata: {"count":2}\n\nevent: dropped\ndata: {"cut":';
  const bytes = Buffer.from(text);
  for (const size of [1, 7, bytes.length]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    );
    const { client, sent } = tailOf(chunks);
    const found = await Array.fromAsync(client.follow({ sourceId: "s" }));
    expect(found.map(({ name }) => name)).toEqual(["received", "missed"]);
    expect(JSON.stringify(found[0]!.data)).toBe('{"n":12345678901234567,"t":"é"}');
    expect(found[1]!.data).toEqual({ count: 2 });
    expect(sent[0]!.url).toBe("http://x/v2/events?sourceId=s");
  }
});

test("the live tail says when it is open, and its connection ends with its reader", async () => {
  const { client, sent, state } = tailOf(parts('event: received\ndata: {"n":1}\n\n'), true);
  let opened = 0;
  const reader = new AbortController();
  const tail = client.follow(undefined, reader.signal, () => {
    opened += 1;
  });
  expect(opened).toBe(0);
  for await (const message of tail) {
    expect([opened, message]).toEqual([1, { name: "received", data: { n: 1 } }]);
    break;
  }
  expect([opened, state.isCancelled]).toEqual([1, true]);
  expect(sent[0]!.signal).toBe(reader.signal);
});

test("the live tail has events with a line or paragraph separator of Unicode", async () => {
  const text = "before\u2028data: \u2029after\u0085\r";
  const data = JSON.stringify({ text });
  const { client } = tailOf(parts(`event: received\ndata: ${data}\n\n`));
  const found = await Array.fromAsync(client.follow());
  expect(found as unknown[]).toEqual([{ name: "received", data: { text } }]);
});
