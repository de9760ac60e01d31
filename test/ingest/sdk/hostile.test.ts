import { afterAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { SDK_BODY_BYTES_MAX, SDK_EVENT_LEVELS_MAX } from "../../../src/settings/limits.ts";
import { send, WRITE_KEY } from "../harness.ts";
import { basic, openSdkListener, track } from "./_sdk.ts";

const server = openSdkListener();
afterAll(() => server.stop());

const AUTH = `Authorization: ${basic(WRITE_KEY)}\r\n`;
const head = (headers: string, path = "/v1/batch") =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\n${AUTH}${headers}\r\n`;
const sized = (body: Buffer | string, headers = "") =>
  `${head(`${headers}Content-Length: ${Buffer.byteLength(body, "latin1")}\r\n`)}${body.toString("latin1")}`;
const CLOSE = "Connection: close\r\n";
const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

/** Sends the bytes of requests, the last of which closes the connection. */
async function ask(...texts: string[]): Promise<number[]> {
  return statuses((await send(server.port, texts.join(""))).text);
}

/**
 * Milliseconds of CPU that a request may take, of this process with the client and the listener.
 * The time that the clock shows depends on what else the machine does.
 */
const CPU_MS_MAX = 1_000;

const good = JSON.stringify({ batch: [track("1")] });
const bad = (text: string) => `{"batch":[${JSON.stringify(track("1"))},${text}]}`;
const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

test.each([
  ["a nesting bomb", deep(1_000_000), [400], 0],
  [
    "a nesting bomb in an event",
    bad(`{"userId":"u","type":"track","event":"e","p":${deep(1_000)}}`),
    [200],
    2,
  ],
  ["a number with a million digits", bad(`{"userId":${"9".repeat(1_000_000)}}`), [200], 2],
  ["__proto__", bad('{"__proto__":{"userId":"u"},"constructor":1}'), [200], 2],
  ["lone surrogates", bad('{"userId":"\\ud800","type":"track","event":"\\udfff"}'), [200], 2],
  [
    "bytes that are no UTF-8",
    bad('{"userId":"\xff\xfe\xc0\x80","type":"track","event":"e"}'),
    [200],
    2,
  ],
  ["a byte order mark", `\xef\xbb\xbf${good}`, [400], 0],
  ["100,000 events", `{"batch":[${"{},".repeat(99_999)}{}]}`, [413], 0],
  ["20,000 events", `{"batch":[${"{},".repeat(19_999)}{}]}`, [200], 20_000],
  ["a bomb of gzip", gzipSync(Buffer.alloc(256 << 20)), [413], 0],
  ["half a gzip", gzipSync(Buffer.alloc(1 << 20)).subarray(0, -9), [400], 0],
  ["a gzip with more bytes behind it", Buffer.concat([gzipSync(good), Buffer.from("x")]), [400], 0],
  ["5 MB of brackets in an event", bad(deep(2_500_000)), [200], 2],
  ["many lists of events", `{${'"batch":[{}],'.repeat(300_000)}"batch":[{}]}`, [200], 1],
  ["an id of 5 MB of escapes", bad(`{"userId":"${"\\u0061".repeat(800_000)}"}`), [200], 2],
] as const)(
  "%s is answered plainly, and the next request too",
  async (what, body, expected, stored) => {
    const isGzip = typeof body !== "string";
    const first = sized(body as string, isGzip ? "Content-Encoding: gzip\r\n" : "");
    const before = process.cpuUsage();
    const answered = await ask(first, sized(good, CLOSE));
    const { user, system } = process.cpuUsage(before);
    expect({ what, answered }).toEqual({ what, answered: [...expected, 200] });
    expect((user + system) / 1_000).toBeLessThan(CPU_MS_MAX);
    expect(server.records.splice(0)).toHaveLength(stored + 1);
  },
);

test("levels beyond the limit refuse their event alone", async () => {
  const nested = (levels: number) =>
    `{"userId":"u","type":"track","event":"e","p":${deep(levels)}}`;
  await ask(sized(`{"batch":[${nested(SDK_EVENT_LEVELS_MAX + 1)},${nested(3)}]}`, CLOSE));
  const refused = server.records.splice(0).map((record) => record.refused !== undefined);
  expect(refused).toEqual([true, false]);
});

test("pipelined bodies are handled in order, and a request inside a body is not handled as a request", async () => {
  const inner = JSON.stringify({ batch: [track("inner", { text: sized(good) })] });
  const chunked = head("Transfer-Encoding: chunked\r\n");
  const chunks = [good.slice(0, 10), good.slice(10)].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  );
  const texts = [
    sized(inner),
    `${chunked}${chunks.join("")}0\r\n\r\n`,
    sized("no"),
    sized(good, CLOSE),
  ];
  expect(await ask(...texts)).toEqual([200, 200, 400, 200]);
  expect(server.taken().map(({ event }) => event.messageId)).toEqual(["inner", "1", "1"]);
});

test.each([
  ["two lengths", "Content-Length: 4\r\nContent-Length: 4\r\n"],
  ["a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"],
  ["chunks twice", "Transfer-Encoding: chunked, chunked\r\n"],
  ["a length that is no number", "Content-Length: 0x4\r\n"],
])("a request with %s is refused before its body, and ends the connection", async (_, headers) => {
  expect(await ask(`${head(headers)}4\r\nGET \r\n0\r\n\r\n`, sized(good, CLOSE))).toEqual([400]);
  expect(server.taken()).toEqual([]);
});

test("a body beyond the limit is refused by its length, before it comes", async () => {
  const answer = await send(server.port, head(`Content-Length: ${SDK_BODY_BYTES_MAX + 1}\r\n`));
  expect(statuses(answer.text)).toEqual([413]);
  expect(JSON.parse(answer.body).message).toEndWith("or of 5242880 for events of SDKs");
  expect(answer.head).toContain("Connection: close");
});

test("a page may read why its request is refused before its body has come", async () => {
  const origin = "Origin: https://shop.example\r\n";
  const texts = [
    head(`${origin}Content-Length: ${SDK_BODY_BYTES_MAX + 1}\r\n`),
    `${head(`${origin}Transfer-Encoding: chunked\r\n`)}no size\r\n`,
  ];
  for (const [at, text] of texts.entries()) {
    const answer = await send(server.port, text);
    expect(statuses(answer.text)).toEqual([[413, 400][at]!]);
    expect(answer.head).toContain("Access-Control-Allow-Origin: https://shop.example\r\n");
    expect(answer.head).toContain("Access-Control-Allow-Credentials: true");
    expect(answer.head).toContain("Access-Control-Expose-Headers: Retry-After");
  }
  const unread = await send(server.port, "POST /v1/batch HTTP/1.1\r\nno header\r\n\r\n");
  expect(statuses(unread.text)).toEqual([400]);
  expect(unread.head).toContain("Access-Control-Allow-Origin: *");
  expect(unread.head).not.toContain("Credentials");
});
