import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { WEBHOOK_PATH_CHARS_MAX } from "../../../src/destinations/webhook/limits.ts";
import { RequestBuildError } from "../../../src/destinations/webhook/request-build-error.ts";
import { appendToUrl, replaceUrl } from "../../../src/destinations/webhook/url-overrides.ts";

describe("a path that user code appends", () => {
  test.each([
    [
      "https://www.example.com/",
      "/search?email=a@b.c",
      "https://www.example.com/search?email=a@b.c",
    ],
    ["https://www.example.com", "/search", "https://www.example.com/search"],
    ["https://www.example.com", "search", "https://www.example.com/search"],
    ["https://www.example.com/a", "/b", "https://www.example.com/a/b"],
    ["https://www.example.com/a", "b", "https://www.example.com/ab"],
    ["https://www.example.com/a/", "/b/", "https://www.example.com/a/b/"],
    ["https://www.example.com/a?b=c", "&d=e", "https://www.example.com/a?b=c&d=e"],
    ["https://www.example.com/a?b=c", "/d", "https://www.example.com/a?b=c/d"],
    ["https://www.example.com/a?b=", "../x", "https://www.example.com/a?b=../x"],
    ["https://www.example.com/a", "?b=../..", "https://www.example.com/a?b=../.."],
    ["https://www.example.com/a#part", "/b", "https://www.example.com/a/b"],
    ["https://www.example.com", ".evil.com/x", "https://www.example.com/.evil.com/x"],
    ["https://www.example.com", "@evil.com/x", "https://www.example.com/@evil.com/x"],
    ["https://www.example.com", ":81/x", "https://www.example.com/:81/x"],
    ["https://www.example.com/", "//evil.com/x", "https://www.example.com//evil.com/x"],
    ["https://www.example.com:8443/a", "/b c/ü", "https://www.example.com:8443/a/b%20c/%C3%BC"],
    ["https://www.example.com/a", "/.../..b/c..", "https://www.example.com/a/.../..b/c.."],
  ])("%s and %s", (base, path, url) => expect(appendToUrl(base, path)).toBe(url));

  test.each([
    ["/../admin", "without segments . and .."],
    ["/..", "without segments . and .."],
    ["/x/../../admin?a=b", "without segments . and .."],
    ["/./x", "without segments . and .."],
    ["\\..\\admin", "without segments . and .."],
    ["/%2e%2E/admin", "without segments . and .."],
    ["/.%2e/admin", "without segments . and .."],
    ["/..%2fadmin", "without segments . and .."],
    ["/x%5C..%5cadmin", "without segments . and .."],
    ["/..;a=b/admin", "without segments . and .."],
    ["/a#b", "%23 stands for it"],
    ["/.\t./admin", "without control characters"],
    ["/a\r\nX: y", "without control characters"],
    ["/a\0", "without control characters"],
    [`/${"x".repeat(WEBHOOK_PATH_CHARS_MAX)}`, `at most ${WEBHOOK_PATH_CHARS_MAX} characters`],
  ])("%j is refused", (path, why) => {
    expect(() => appendToUrl("https://a.test/hooks/in/", path)).toThrow(RequestBuildError);
    expect(() => appendToUrl("https://a.test/hooks/in/", path)).toThrow(why);
  });

  test("a path of 4,096 characters is taken", () => {
    const path = `/${"x".repeat(4_095)}`;
    expect(appendToUrl("https://a.test/in", path)).toBe(`https://a.test/in${path}`);
    expect(() => appendToUrl("https://a.test/in", `${path}x`)).toThrow("got 4097");
  });

  /**
   * The paths that servers may read from a URL: some decode it, some read a backslash as a slash.
   */
  const seen = (pathname: string) => {
    const decoded = pathname.replaceAll(/%2e/gi, ".").replaceAll(/%2f|%5c|\\/gi, "/");
    return new URL(`http://a${decoded.replaceAll(/;[^/]*/g, "")}`).pathname;
  };
  const piece = fc.oneof(
    fc.constantFrom("/", "\\", ".", "..", "%2e", "%2F", "%5c", ";", "@", ":", "//", "?", "#", " "),
    fc.constantFrom(
      "\t",
      "\n",
      "a",
      "evil.com",
      "http://evil.com",
      "&",
      "=",
      "%",
      "%2",
      "e",
      "\ud800",
    ),
    fc.string({ maxLength: 4 }),
  );
  const nasty = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  const bases = fc.constantFrom(
    ...["http://a.test", "https://a.test:8443/hooks/in", "https://a.test/hooks/in/"],
    ...["https://a.test/x.?y=z", "https://a.test/%2", "http://[::1]:81/a;b", "https://a.test/.x"],
  );

  test("changes nothing but what stands behind the configured path, whatever the text", () => {
    let made = 0;
    const property = fc.property(bases, nasty, (text, path) => {
      const base = new URL(text);
      let url: URL;
      try {
        url = new URL(appendToUrl(text, path));
      } catch (error) {
        expect(error).toBeInstanceOf(RequestBuildError);
        return;
      }
      made += 1;
      expect([url.origin, url.username, url.password, url.hash]).toEqual([base.origin, "", "", ""]);
      expect(url.pathname.startsWith(base.pathname)).toBe(true);
      const end = base.pathname.lastIndexOf("/") + 1;
      expect(seen(url.pathname).startsWith(seen(base.pathname.slice(0, end)))).toBe(true);
      if (base.search !== "") expect(url.search.startsWith(base.search)).toBe(true);
    });
    fc.assert(property, { numRuns: 3_000 });
    expect(made).toBeGreaterThan(100);
  });

  test("a whole URL must begin with the configured one", () => {
    const base = "https://a.test/hooks/in?x=y";
    const good = ["https://a.test/hooks/in", "https://A.test:443/hooks/in/b?c=d"];
    expect(good.map((url) => replaceUrl(base, url))).toEqual([
      good[0]!,
      "https://a.test/hooks/in/b?c=d",
    ]);
    const wrong = [
      ...["https://evil.test/hooks/in", "http://a.test/hooks/in", "https://a.test:444/hooks/in"],
      ...["https://a.test/hooks/inner", "https://a.test/", "a.test/hooks/in", "/hooks/in"],
      ...["https://u@a.test/hooks/in", "https://a.test/hooks/in/../../x", "file:///hooks/in"],
      ...["https://a.test/hooks/in/%2e%2e/x", "https://a.test/hooks/in#x", "https:a.test/x"],
    ];
    for (const url of wrong) expect(() => replaceUrl(base, url)).toThrow(RequestBuildError);
    const property = fc.property(nasty, nasty, (start, end) => {
      for (const text of [start + end, `https://a.test${start}${end}`, `${base}${start}`]) {
        try {
          const url = new URL(replaceUrl(base, text));
          expect(url.origin).toBe("https://a.test");
          expect(`${seen(url.pathname)}/`).toStartWith("/hooks/in/");
        } catch (error) {
          expect(error).toBeInstanceOf(RequestBuildError);
        }
      }
    });
    fc.assert(property, { numRuns: 2_000 });
  });
});
