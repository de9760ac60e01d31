import { expect, test } from "bun:test";
import { takesGzip } from "../../../src/api/response/gzip.ts";

test.each([
  ["gzip", true],
  ["br, GZIP, zstd", true],
  ["deflate,gzip ; q=0.5, br", true],
  ["gzip;q=1.0", true],
  ["gzip;q=0", false],
  ["br, gzip; q=0.000, identity", false],
  ["x-gzip, gzipped", false],
  ["identity", false],
  ["", false],
])("a client that accepts `%s` takes gzip: %p", (accepted, takes) => {
  expect(takesGzip(new Headers({ "accept-encoding": accepted }))).toBe(takes);
});

test("a client that names no encoding takes no gzip", () => {
  expect(takesGzip(new Headers())).toBe(false);
});
