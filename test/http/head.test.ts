import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { hasBareFeed, head, headerValue, readHead } from "../../src/http/head.ts";
import { HTTP_HEADERS_MAX, HTTP_METHOD_CHARS_MAX } from "../../src/settings/limits.ts";

/** Reads a head that stands between other bytes, which must not count. */
function read(text: string, around = "\0") {
  const bytes = Buffer.from(around + text + around, "latin1");
  const status = readHead(bytes, around.length, around.length + text.length);
  if (status !== 0) return { status };
  const part = (start: number, end: number) => bytes.toString("latin1", start, end);
  return {
    status,
    method: part(head.methodStart, head.methodEnd),
    path: part(head.pathStart, head.pathEnd),
    query: part(head.queryStart, head.targetEnd),
    isLast: head.isLast,
    bodyBytes: head.bodyBytes,
    isChunked: head.isChunked,
    expectsContinue: head.expectsContinue,
    forwardedFor: headerValue(bytes, "x-forwarded-for"),
  };
}

const request = (line: string, ...headers: string[]) => [line, ...headers, "", ""].join("\r\n");

test("a bare line feed is found in the received part of a head", () => {
  const bytes = Buffer.from("\na\r\nb\nc\n");
  expect(hasBareFeed(bytes, 1, 5)).toBe(false);
  expect(hasBareFeed(bytes, 0, 5)).toBe(true);
  expect(hasBareFeed(bytes, 1, 6)).toBe(true);
  expect(hasBareFeed(bytes, 6, 7)).toBe(false);
});

test("a header is found by its whole name in any case, and its lines are joined", () => {
  const lines = [
    "Host: a",
    "AUTHORIZATION: Basic a",
    "Authorization2: b",
    "XAuthorization: c",
    "Origin:",
    "X-Y: 1",
    "x-y:\t2 ",
  ];
  const text = request("POST / HTTP/1.1", ...lines);
  const bytes = Buffer.from(text);
  expect(readHead(bytes, 0, bytes.length)).toBe(0);
  const values = ["authorization", "origin", "x-y", "host", "content-encoding"].map((name) =>
    headerValue(bytes, name),
  );
  expect(values).toEqual(["Basic a", "", "1,2", "a", undefined]);
  const short = Buffer.from(request("GET / HTTP/1.1", "Host: b"));
  expect(readHead(short, 0, short.length)).toBe(0);
  expect(headerValue(short, "authorization")).toBe(undefined);
});

describe("an HTTP head", () => {
  for (const [form, text, expected] of [
    ["plain", request("GET / HTTP/1.1", "Host: a"), { method: "GET", path: "/", query: "" }],
    ["with a query", request("GET /p?a=1&b HTTP/1.1", "Host: a"), { path: "/p", query: "a=1&b" }],
    ["with an empty query", request("GET /p? HTTP/1.1", "Host: a"), { path: "/p", query: "" }],
    ["with two marks", request("GET /p?a?b HTTP/1.1", "Host: a"), { path: "/p", query: "a?b" }],
    ["with a fragment", request("GET /p?a#b HTTP/1.1", "Host: a"), { path: "/p", query: "a#b" }],
    ["with raw UTF-8", request("GET /?\xc3\xa9 HTTP/1.1", "Host: a"), { query: "\xc3\xa9" }],
    ["of a URL", request("GET http://b:1/p?q HTTP/1.1", "Host: a"), { path: "/p", query: "q" }],
    ["of a URL with TLS", request("GET hTTpS://b:1/p HTTP/1.1", "Host: a"), { path: "/p" }],
    ["of another method", request("PROPFIND / HTTP/1.1", "Host: a"), { method: "PROPFIND" }],
    ["without spaces", request("GET / HTTP/1.1", "Host:a"), { isLast: false }],
    ["with tabs", request("GET / HTTP/1.1", "Host:\t a \t"), { isLast: false }],
    ["of HTTP/1.0", request("GET / HTTP/1.0", "Host: a"), { isLast: true }],
    ["that closes", request("GET / HTTP/1.1", "Host: a", "connection: Close"), { isLast: true }],
    [
      "that closes in a list",
      request("GET / HTTP/1.1", "Host: a", "Connection: te, close"),
      { isLast: true },
    ],
    [
      "that closes at the end of a list without blanks",
      request("GET / HTTP/1.1", "Host: a", "Connection: x-close,te,close"),
      { isLast: true },
    ],
    [
      "that closes at the start of a list",
      request("GET / HTTP/1.1", "Host: a", "CONNECTION: close,te"),
      { isLast: true },
    ],
    [
      "that says close in headers of other names",
      request("GET / HTTP/1.1", "Host: a", "Konnection: close", "Connectiom: close"),
      { isLast: false },
    ],
    [
      "of any HTTP/1 from 1.1 on",
      request("GET / HTTP/1.9", "Host: a"),
      { path: "/", isLast: false },
    ],
    [
      "of a method as long as the limit",
      request(`${"M".repeat(HTTP_METHOD_CHARS_MAX)} / HTTP/1.1`, "Host: a"),
      { method: "M".repeat(HTTP_METHOD_CHARS_MAX) },
    ],
    [
      "of a method with every kind of letter",
      request("A-Z / HTTP/1.1", "Host: a"),
      { method: "A-Z" },
    ],
    [
      "with a body of the longest length",
      request("GET / HTTP/1.1", "Host: a", "Content-Length: 987654321012345"),
      { bodyBytes: 987654321012345 },
    ],
    [
      "with every character of a host",
      request("GET / HTTP/1.1", "Host: [::1]:80%azAZ09._~-"),
      { path: "/" },
    ],
    [
      "with names that have the length of those that matter",
      request(
        "GET / HTTP/1.1",
        "Host: a",
        ...["Hose: b", "Content-Lengthy: x", "Content-Lengtz: x", "Transfer-Encodinx: y"],
        ...["X-Forwarded-Foo: 1", "Expecu: 100-continue", "Connectios: close"],
      ),
      {
        isLast: false,
        bodyBytes: 0,
        isChunked: false,
        expectsContinue: false,
        forwardedFor: undefined,
      },
    ],
    [
      "with an unknown expectation",
      request("GET / HTTP/1.1", "Host: a", "Expect: 100-continuex"),
      { expectsContinue: false },
    ],
    [
      "of HTTP/1.0 that expects to be asked for its body",
      request("GET / HTTP/1.0", "Host: a", "Expect: 100-continue"),
      { expectsContinue: false },
    ],
    [
      "that stays",
      request("GET / HTTP/1.1", "Host: a", "Connection: keep-alive, closed, x-close"),
      { isLast: false },
    ],
    [
      "without a body",
      request("GET / HTTP/1.1", "Host: a", "Content-Length: 0"),
      { isLast: false, bodyBytes: 0, isChunked: false },
    ],
    [
      "with a body",
      request("GET / HTTP/1.1", "Host: a", "Content-Length: 0120"),
      { bodyBytes: 120 },
    ],
    [
      "with chunks",
      request("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: Chunked"),
      { isLast: false, isChunked: true, bodyBytes: 0 },
    ],
    [
      "whose client waits to be asked for its body",
      request("POST / HTTP/1.1", "Host: a", "Expect: 100-Continue", "Content-Length: 1"),
      { expectsContinue: true },
    ],
    [
      "of HTTP/1.0 without Host",
      request("GET /health HTTP/1.0"),
      { path: "/health", isLast: true },
    ],
    ["of a URL in capitals", request("GET HTTP://A/p HTTP/1.1", "Host: a"), { path: "/p" }],
    [
      "of a URL without a path",
      request("GET http://a HTTP/1.1", "Host: a"),
      { path: "", query: "" },
    ],
    ["of a URL with a query alone", request("GET http://a?q HTTP/1.1", "Host: a"), { query: "q" }],
    [
      "that was forwarded",
      request("GET / HTTP/1.1", "Host: a", "X-Forwarded-For:  1.2.3.4, ::1 ", "x-forwarded-for: 9"),
      { forwardedFor: "1.2.3.4, ::1,9" },
    ],
  ] as const) {
    test(`${form} is understood`, () => {
      expect(read(text)).toMatchObject({ status: 0, ...expected });
    });
  }

  for (const [form, text, status] of [
    ["of nothing", "\r\n\r\n", 400],
    ["after an empty line", `\r\n${request("GET / HTTP/1.1", "Host: a")}`, 400],
    ["without a method", request(" / HTTP/1.1", "Host: a"), 400],
    ["of a long method", request(`${"A".repeat(HTTP_METHOD_CHARS_MAX + 1)} / HTTP/1.1`), 400],
    ["of a URL without a host", request("GET http:///p HTTP/1.1", "Host: a"), 400],
    ["of a URL like one", request("GET http\x1a\x0f\x0fa/ HTTP/1.1", "Host: a"), 400],
    ["of a URL with a fragment alone", request("GET http://a#b HTTP/1.1", "Host: a"), 400],
    ["of HTTP/1.0 with two Hosts", request("GET / HTTP/1.0", "Host: a", "Host: a"), 400],
    ["of a URL with a user", request("GET http://u@a/ HTTP/1.1", "Host: a"), 400],
    ["of another scheme", request("GET ftp://a/ HTTP/1.1", "Host: a"), 400],
    ["of a URL like one with TLS", request("GET ttps0:///a HTTP/1.1", "Host: a"), 400],
    ["of a scheme without a host", request("GET https:/a HTTP/1.1", "Host: a"), 400],
    ["of a scheme that begins like one", request("GET httpst://a HTTP/1.1", "Host: a"), 400],
    ["with two spaces", request("GET  / HTTP/1.1", "Host: a"), 400],
    ["with two spaces before the version", request("GET /  HTTP/1.1", "Host: a"), 505],
    ["of HTTP/1.12", request("GET / HTTP/1.12", "Host: a"), 505],
    ["of http/1.1", request("GET / http/1.1", "Host: a"), 505],
    ["of HTTP/3.0", request("GET / HTTP/3.0", "Host: a"), 505],
    ["without Host", request("GET / HTTP/1.1", "X: a"), 400],
    ["with two Hosts", request("GET / HTTP/1.1", "Host: a", "hOST: a"), 400],
    [
      "with CL and TE",
      request("GET / HTTP/1.1", "Host: a", "Content-Length: 0", "Transfer-Encoding: chunked"),
      400,
    ],
    [
      "with TE in HTTP/1.0",
      request("GET / HTTP/1.0", "Host: a", "Transfer-Encoding: chunked"),
      400,
    ],
    [
      "with two CLs",
      request("GET / HTTP/1.1", "Host: a", ...Array(2).fill("Content-Length: 1")),
      400,
    ],
    [
      "with two TEs",
      request("GET / HTTP/1.1", "Host: a", ...Array(2).fill("Transfer-Encoding: chunked")),
      400,
    ],
    ["with another TE", request("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: gzipped"), 400],
    [
      "with a TE behind chunks",
      request("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, gzip"),
      400,
    ],
    ["with a CL below digits", request("GET / HTTP/1.1", "Host: a", "Content-Length: 1/"), 400],
    ["with a CL above digits", request("GET / HTTP/1.1", "Host: a", "Content-Length: :1"), 400],
    [
      "with a CL that no number holds",
      request("GET / HTTP/1.1", "Host: a", "Content-Length: 1234567890123456"),
      400,
    ],
    ["with an empty Host", request("GET / HTTP/1.1", "Host:"), 400],
    ["with a path in its Host", request("GET / HTTP/1.1", "Host: a/b"), 400],
    ["with a blank in its Host", request("GET / HTTP/1.1", "Host: a b"), 400],
    ["of HTTP/1./", request("GET / HTTP/1./", "Host: a"), 505],
    ["of HTTP/1.:", request("GET / HTTP/1.:", "Host: a"), 505],
    ["with a bare CR behind its version", "GET / HTTP/1.1\r\rHost: a\r\n\r\n", 505],
    ["with a bare LF behind its version", "GET / HTTP/1.1\n\nHost: a\r\n\r\n", 505],
    ["with a bare CR behind a header", request("GET / HTTP/1.1", "Host: a", "X: a\rYZ: b"), 400],
    ["with a bare LF behind a header", request("GET / HTTP/1.1", "Host: a", "X: a\nY: b"), 400],
    [
      "with a doubled LF behind a header",
      request("GET / HTTP/1.1", "Host: a", "X: a\n\nY: b"),
      400,
    ],
    ["with a header without a name", request("GET / HTTP/1.1", "Host: a", ": b"), 400],
    ["with a blank before a colon", request("GET / HTTP/1.1", "Host: a", "X : b"), 400],
    ["with a folded header", request("GET / HTTP/1.1", "Host: a", "X: b", " c"), 400],
    ["without a target", request("GET HTTP/1.1", "Host: a"), 400],
    ["of another method's form", request("get / HTTP/1.1", "Host: a"), 400],
    ["with an empty CL", request("GET / HTTP/1.1", "Host: a", "Content-Length: "), 400],
    ["with a header in a header", request("GET / HTTP/1.1", "Host: a", "X: \x7f"), 400],
    [
      "with too many headers",
      request("GET / HTTP/1.1", "Host: a", ...Array(HTTP_HEADERS_MAX).fill("X: a")),
      431,
    ],
  ] as const) {
    test(`${form} is refused`, () => {
      expect(read(text).status).toBe(status);
    });
  }

  test("is accepted up to the limit of headers", () => {
    const headers = Array(HTTP_HEADERS_MAX - 1).fill("X: a");
    expect(read(request("GET / HTTP/1.1", "Host: a", ...headers)).status).toBe(0);
  });

  test("is read the same at every offset of a buffer", () => {
    const piece = fc.constantFrom(
      ...["GET", " ", "/", "?", "a", "HTTP/1.1", "HTTP/1.0", "\r\n", "\r", "\n", ":", "Host: a"],
      ...["Content-Length: 1", "Transfer-Encoding: chunked", "http://a/", "\0", "\xff", "\t", ","],
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")),
      fc
        .array(fc.array(piece, { maxLength: 3 }), { maxLength: 4 })
        .map((lines) =>
          request("GET /p?q HTTP/1.1", "Host: a", ...lines.map((line) => line.join(""))),
        ),
    );
    fc.assert(
      fc.property(
        text,
        fc.constantFrom("a", ": ", "\r\n", " HTTP/1.1\r\n", "Host: b\r\n"),
        (it, around) => {
          // A connection hands over heads up to their first empty line alone.
          const whole = `${it.split("\r\n\r\n", 1)[0]}\r\n\r\n`;
          expect(read(whole, around)).toEqual(read(whole));
        },
      ),
      { numRuns: 5_000 },
    );
  });
});
