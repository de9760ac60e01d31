import { expect, test } from "bun:test";
import { HttpResponse } from "../../src/http/response.ts";

const DATE = "Sun, 29 Nov 2026 01:00:00 GMT";
const linesOf = (
  response: HttpResponse,
  { isLast = false, withoutBody = false }: { isLast?: boolean; withoutBody?: boolean } = {},
) => response.bytes(DATE, isLast, withoutBody).toString("latin1").split("\r\n");

test("a response has its status, its headers, the length of its body, the date and the body", () => {
  const response = new HttpResponse(404, { "Content-Type": "text/plain", "X-A": "1" }, "größe");
  const head = [
    ...["HTTP/1.1 404 Not Found", "Content-Type: text/plain", "X-A: 1"],
    ...["Content-Length: 7", `Date: ${DATE}`],
  ];
  const body = Buffer.from("größe").toString("latin1");
  expect(linesOf(response)).toEqual([...head, "", body]);
  expect(linesOf(response, { isLast: true })).toEqual([...head, "Connection: close", "", body]);
  expect(linesOf(response, { withoutBody: true })).toEqual([...head, "", ""]);
  const both = { isLast: true, withoutBody: true };
  expect(linesOf(response, both)).toEqual([...head, "Connection: close", "", ""]);
});

test("a body may be a part of other bytes, or nothing, and a response 204 has no length", () => {
  const bytes = new TextEncoder().encode("abcdef").subarray(1, 4);
  expect(linesOf(new HttpResponse(200, {}, bytes))).toEqual([
    ...["HTTP/1.1 200 OK", "Content-Length: 3", `Date: ${DATE}`, "", "bcd"],
  ]);
  expect(linesOf(new HttpResponse(200, {}))).toEqual([
    ...["HTTP/1.1 200 OK", "Content-Length: 0", `Date: ${DATE}`, "", ""],
  ]);
  expect(linesOf(new HttpResponse(204, {}))).toEqual([
    ...["HTTP/1.1 204 No Content", `Date: ${DATE}`, "", ""],
  ]);
});

test("a response is encoded once for each date, whatever is sent between", () => {
  const response = new HttpResponse(200, {}, "a");
  const first = response.bytes(DATE, false, false);
  response.bytes(DATE, true, false);
  expect(response.bytes(DATE, false, false)).toBe(first);
  const next = response.bytes("later", false, false);
  expect(next.toString()).toContain("Date: later");
  expect(response.bytes("later", false, false)).toBe(next);
  expect(response.bytes(DATE, false, false)).toEqual(first);
});
