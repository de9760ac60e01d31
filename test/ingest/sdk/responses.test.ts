import { expect, test } from "bun:test";
import { successResponse } from "../../../src/ingest/sdk/responses.ts";

const headOf = (origin: string | undefined) =>
  Buffer.from(successResponse(origin).bytes("", false, true)).toString();

test("a response repeats the origin of a page", () => {
  expect(headOf("https://a.example")).toContain(
    "Access-Control-Allow-Origin: https://a.example\r\n",
  );
});

test("origins that no browser sends share one response, which repeats none and takes no memory", () => {
  const shared = successResponse(undefined);
  for (const origin of ["x".repeat(200_000), "https://a b", "", "é"]) {
    expect(successResponse(origin)).toBe(shared);
  }
  expect(headOf(undefined)).toContain("Access-Control-Allow-Origin: *\r\n");
});
