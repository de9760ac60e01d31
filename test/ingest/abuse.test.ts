import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { get, openListener, type RawAnswer, readAll, send, WRITE_KEY } from "./harness.ts";

/** Requests of hostile and broken clients: a 4xx or a close, never a 500, never a second event. */

const TARGET = `/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;
const SMUGGLED = `GET ${TARGET}&smuggled=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

let server: ReturnType<typeof openListener>;
beforeAll(() => {
  server = openListener();
});
afterAll(() => server.stop());

function head(...lines: string[]): string {
  return [`GET ${TARGET} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

function headers(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `X-${i}: y`);
}

describe("smuggling", () => {
  const chunked = "Transfer-Encoding: chunked";
  for (const [form, request] of [
    ["CL and TE", `${head("Host: a", `Content-Length: ${SMUGGLED.length + 5}`, chunked)}0\r\n\r\n`],
    ["TE and CL", `${head("Host: a", chunked, "Content-Length: 3")}0\r\n\r\n`],
    ["an unknown TE", `${head("Host: a", "Transfer-Encoding: xchunked")}0\r\n\r\n`],
    ["two codings", `${head("Host: a", "Transfer-Encoding: chunked, identity")}0\r\n\r\n`],
    ["two TE", `${head("Host: a", chunked, "Transfer-Encoding: identity")}0\r\n\r\n`],
    ["a space before the colon", `${head("Host: a", "Transfer-Encoding : chunked")}0\r\n\r\n`],
    ["two CL", head("Host: a", "Content-Length: 0", `Content-Length: ${SMUGGLED.length}`)],
    ["a list of CL", head("Host: a", `Content-Length: 0, ${SMUGGLED.length}`)],
    ["a negative CL", head("Host: a", "Content-Length: -1")],
    ["a signed CL", head("Host: a", "Content-Length: +0")],
    ["a hexadecimal CL", head("Host: a", "Content-Length: 0x0")],
    ["a CL beyond 2^64", head("Host: a", "Content-Length: 99999999999999999999999")],
    ["a chunk that is none", `${head("Host: a", chunked).replace("GET", "POST")}zz\r\n\r\n`],
    ["a folded header", head("Host: a", "X: a", " b")],
    ["a folded first header", head(" Host: a")],
    ["a bare LF", head("Host: a\nX: b")],
    ["a bare CR", head("Host: a\rX: b")],
    ["bare LFs alone", head("Host: a").replaceAll("\r\n", "\n")],
    ["NUL in a header", head("Host: a", "X: a\0b")],
    ["NUL in a name", head("Host: a", "X\0: b")],
    ["a header without colon", head("Host: a", "foo")],
    ["a header without name", head("Host: a", ": b")],
    ["a request in a body", head("Host: a", `Content-Length: ${SMUGGLED.length}`)],
  ] as const) {
    test(form, async () => {
      const answer = await sendAndDrop(request + SMUGGLED);
      expectHarmless(answer, form === "a request in a body" ? [200] : [400, 405, 505]);
      expect(server.events().some((event) => event.smuggled)).toBe(false);
    });
  }
});

describe("odd requests", () => {
  for (const [form, request, statuses] of [
    ["no Host", head("Connection: close"), [400]],
    ["an empty Host", head("Host:", "Connection: close"), [400]],
    ["two Hosts", head("Host: a", "Host: b", "Connection: close"), [400]],
    ["the same Host twice", head("Host: a", "Host: a", "Connection: close"), [400]],
    ["a Host that is none", head("Host: a b/c?d#e", "Connection: close"), [400]],
    ["a Host with a path", head("Host: a/b", "Connection: close"), [400]],
    ["a Host with a user", head("Host: u:p@h", "Connection: close"), [400]],
    ["HTTP/2.0", head("Host: a").replace("1.1", "2.0"), [505]],
    ["HTTP/0.9", `GET ${TARGET}\r\n\r\n`, [505]],
    ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]],
    ["TLS", `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"\xaa".repeat(64)}`, [400]],
    ["garbage", "\x00\x01\x02\x03\r\n\r\n", [400]],
    ["an absolute target elsewhere", get("http://other.test/"), [404]],
    ["an authority target", get("a:80").replace("GET", "CONNECT"), [400, 404]],
    ["an asterisk", get("*").replace("GET", "OPTIONS"), [400]],
    ["a relative target", get("pixel/v1/page"), [400]],
    ["a target with a space", get(`${TARGET}&x=a b`), [505]],
    ["a target with NUL", get(`${TARGET}\0`), [505]],
    ["a method of 5,000 letters", get(TARGET).replace("GET", "A".repeat(5_000)), [0, 400]],
    ["1,000 headers", head("Host: a", ...headers(1_000)), [431]],
    ["a header of 300,000 bytes", head("Host: a", `X: ${"a".repeat(300_000)}`), [0, 431]],
    ["a target of 300,000 bytes", get(`${TARGET}&x=${"a".repeat(300_000)}`), [0, 431]],
    ["a target of 5,000,000 bytes", get(`${TARGET}&x=${"a".repeat(5_000_000)}`), [0, 431]],
  ] as const) {
    test(form, async () => {
      const count = server.records.length;
      expectHarmless(await sendAndDrop(request), statuses);
      expect(server.records.length).toBe(count);
    });
  }

  test("an absolute target with the server's own host is served (RFC 9112 §3.2.2)", async () => {
    const answer = await send(server.port, get(`http://localhost${TARGET}`));
    expect(answer.status).toBe(200);
  });

  test("150 headers are ordinary", async () => {
    const answer = await send(server.port, head("Host: a", ...headers(150), "Connection: close"));
    expect(answer.status).toBe(200);
  });

  test("100 pipelined pixels become 100 events in order", async () => {
    const before = server.records.length;
    const pixels = Array.from(
      { length: 100 },
      (_, i) => `GET ${TARGET}&n=${i} HTTP/1.1\r\nHost: a\r\n`,
    );
    const answer = await send(server.port, `${pixels.join("\r\n")}Connection: close\r\n\r\n`);
    expect(answer.text.match(/HTTP\/1\.1 200 OK/g)?.length).toBe(100);
    const numbers = server
      .events()
      .slice(before)
      .map((event) => event.n);
    expect(numbers).toEqual(Array.from({ length: 100 }, (_, i) => String(i)));
  });

  test("the listener serves requests after all of them", async () => {
    expect((await send(server.port, get(TARGET))).status).toBe(200);
  });
});

/** The server may keep a connection that asked for nothing wrong: it is dropped from our side. */
async function sendAndDrop(request: string): Promise<RawAnswer> {
  const socket = connect({ port: server.port, host: "127.0.0.1" });
  const answer = readAll(socket);
  socket.write(Buffer.from(request, "latin1"));
  socket.once("data", () => setTimeout(() => socket.destroy(), 100));
  const late = setTimeout(() => socket.destroy(), 5_000);
  try {
    return await answer;
  } finally {
    clearTimeout(late);
  }
}

/** 0 is a close without an answer. */
function expectHarmless(answer: RawAnswer, statuses: readonly number[]): void {
  expect(statuses).toContain(answer.status);
  expect(answer.text).not.toContain("HTTP/1.1 500");
}
