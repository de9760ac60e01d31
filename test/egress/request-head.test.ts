import { expect, test } from "bun:test";
import { EgressRefused } from "../../src/egress/egress.ts";
import { requestHead } from "../../src/egress/request-head.ts";
import { targetOf } from "../../src/egress/target.ts";

const target = targetOf("http://receiver.test:8080/path?a=b#part");
const head = (method: string, bodyBytes: number, headers = {}) =>
  requestHead({ method, target, headers, bodyBytes });

test("a request's head has its target, its headers and the length of its body", () => {
  const lines = [
    "POST /path?a=b HTTP/1.1",
    "Host: receiver.test:8080",
    "X-One: 1",
    "authorization: Bearer \xe9\t~",
    "Accept-Encoding: identity",
    "Content-Length: 12",
  ];
  const headers = { "X-One": "1", authorization: "Bearer \xe9\t~" };
  expect(head("POST", 12, headers)).toBe(`${lines.join("\r\n")}\r\n\r\n`);
});

test.each(["GET", "HEAD", "DELETE", "OPTIONS"])(
  "%s without a body has no Content-Length",
  (method) => {
    expect(head(method, 0)).not.toContain("Content-Length");
    expect(head(method, 1)).toContain("\r\nContent-Length: 1\r\n");
  },
);

test.each(["POST", "PUT", "PATCH"])("%s without a body has Content-Length 0", (method) => {
  expect(head(method, 0)).toContain("\r\nContent-Length: 0\r\n");
});

test.each(["CONNECT", "TRACE", "TRACK", "A B", ""])("the method %p is refused", (method) => {
  expect(() => head(method, 0)).toThrow(EgressRefused);
});

test.each([
  ...["Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade"],
  ...["TE", "Trailer", "Expect", "Accept-Encoding", "Two Words", "Colon:", ""],
])("the header %p is not set", (name) => {
  expect(() => head("POST", 0, { [name]: "x" })).toThrow(EgressRefused);
});

test.each(["a\r\nB: c", "a\nb", "a\rb", "a\0b", "a\x7fb", "a\u0100b"])(
  "the value %j is not sent",
  (value) => {
    expect(() => head("POST", 0, { A: value })).toThrow(EgressRefused);
  },
);
