import { describe, expect, test } from "bun:test";
import { isOriginPattern } from "../../src/catalog/source-settings.ts";
import { allowsOrigin, recordedAddress } from "../../src/ingest/source-rules.ts";

describe("a client's recorded address", () => {
  test.each([
    [undefined, "203.0.113.77", "203.0.113.77"],
    ["keep", "2001:db8:1:2::9", "2001:db8:1:2::9"],
    ["truncate", "203.0.113.77", "203.0.113.0"],
    ["truncate", "2001:db8:1:2:3:4:5:9", "2001:db8:1::"],
    ["truncate", "::1", "::"],
    ["truncate", "unknown", ""],
    ["truncate", "", ""],
    ["drop", "203.0.113.77", ""],
  ] as const)("with the setting %p, %s becomes %p", (ip, address, recorded) => {
    expect(recordedAddress(ip ? { settings: { ip } } : {}, address)).toBe(recorded);
  });
});

describe("allowed origins", () => {
  const allows = (allowedOrigins: string[], origin?: string) =>
    allowsOrigin({ settings: { allowedOrigins } }, origin);

  test.each([
    "https://example.com",
    "https://EXAMPLE.com",
    "http://localhost:3000",
    "https://a.b.example.org",
    "https://a.example.org",
    undefined,
    "",
  ])("%p may send", (origin) => {
    const list = ["https://Example.com", "http://localhost:3000", "https://*.example.org"];
    expect(allows(list, origin)).toBe(true);
  });

  test.each([
    "http://example.com",
    "https://example.com:444",
    "https://example.com.evil.net",
    "https://evilexample.org",
    "https://example.org",
    "https://.example.org",
    "null",
  ])("%p may not send", (origin) => {
    expect(allows(["https://example.com", "https://*.example.org"], origin)).toBe(false);
  });

  test("every page may send when the list is empty or absent", () => {
    expect(allows([], "https://any.net")).toBe(true);
    expect(allowsOrigin({}, "https://any.net")).toBe(true);
  });

  test.each([
    "https://example.com",
    "http://localhost:8080",
    "https://*.example.com",
    "http://[::1]:80",
    "https://192.0.2.1",
  ])("%s is an origin", (text) => expect(isOriginPattern(text)).toBe(true));

  test.each([
    "",
    "*",
    "example.com",
    "https://",
    "https://example.com/",
    "https://example.com/path",
    "https://a.*.com",
    "ftp://example.com",
    "https://user@example.com",
    `https://${"a".repeat(300)}`,
  ])("%p is no origin", (text) => expect(isOriginPattern(text)).toBe(false));
});
