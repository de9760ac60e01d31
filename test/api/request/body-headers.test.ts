import { expect, test } from "bun:test";
import { FORM_TYPE, parseForm, parseJson, readBody } from "../../../src/api/request/body.ts";
import type { ApiError } from "../../../src/errors.ts";

/** Reads a body of two bytes with these headers; resolves with its text, or the refusal. */
async function read(headers: Record<string, string>, isForm?: boolean) {
  const body = new Uint8Array(Buffer.from("{}"));
  const request = new Request("http://x/", { method: "POST", body, headers });
  const reading = readBody(request, { bytesMax: 5, ...(isForm !== undefined && { isForm }) });
  return await reading.then(String, (error: ApiError) => `${error.refusal}: ${error.message}`);
}
const wrongType = (expected: string) =>
  `invalid: Expected Content-Type ${expected}, got another type`;

test.each([
  [undefined, true, true],
  ["application/json", true, false],
  ["APPLICATION/JSON ; charset=utf-8", true, false],
  ["application/json;charset=utf-8", true, false],
  ["application/vnd.api+json", true, false],
  ["application/vnd.api+json; a=b", true, false],
  ["application/+json", false, false],
  ["application/json+", false, false],
  ["text/json", false, false],
  ["text/x+json", false, false],
  [FORM_TYPE, false, true],
  [`${FORM_TYPE.toUpperCase()}; charset=utf-8`, false, true],
  ["multipart/form-data", false, false],
])("a body of the type %p is taken as JSON: %p, as a form: %p", async (type, isJson, isForm) => {
  const headers: Record<string, string> = type === undefined ? {} : { "Content-Type": type };
  expect(await read(headers)).toBe(isJson ? "{}" : wrongType("application/json"));
  expect(await read(headers, false)).toBe(isJson ? "{}" : wrongType("application/json"));
  expect(await read(headers, true)).toBe(isForm ? "{}" : wrongType(FORM_TYPE));
});

test.each([
  ["identity", true],
  ["IDENTITY", true],
  ["gzip", false],
  ["", false],
])("a body with the Content-Encoding %j is taken: %p", async (encoding, isTaken) => {
  const refusal = "invalid: Expected a body without Content-Encoding, got an encoded one";
  expect(await read({ "Content-Encoding": encoding })).toBe(isTaken ? "{}" : refusal);
});

test("a body that says that it is far too long is not read", async () => {
  const length = (bytes: number) => read({ "Content-Length": String(bytes) });
  expect(await length(64 << 20)).toBe("{}");
  expect(await length((64 << 20) + 1)).toBe(
    "too-large: Expected a body of at most 5 bytes, got more",
  );
});

test("a request without a body has none, whatever its headers say", async () => {
  const headers = { "Content-Type": "text/plain" };
  const bytes = await readBody(new Request("http://x/", { method: "POST", headers }));
  expect(bytes).toHaveLength(0);
  expect(parseJson(bytes)).toEqual({});
});

test("the last field with a name counts in a form", () => {
  expect(parseForm(Buffer.from("a=1&b=x+y%21&a=2&c"))).toEqual({ a: "2", b: "x y!", c: "" });
  expect(parseForm(Buffer.alloc(0))).toEqual({});
});

test("a body that is no JSON in UTF-8 is refused", () => {
  expect(parseJson(Buffer.from(' {"a":"é"} '))).toEqual({ a: "é" });
  expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow("Expected a body in UTF-8");
  for (const text of ["{", "[1,]", "{}}", "nul", " "]) {
    expect(() => parseJson(Buffer.from(text))).toThrow("Expected a body in JSON");
  }
});
