import { expect, test } from "bun:test";
import { checkedUrl, EgressRefused } from "../../src/egress/egress.ts";
import { targetOf } from "../../src/egress/target.ts";

test("a URL's target is the same when it was parsed before, among many others", () => {
  const long = `http://receiver.test/${"a".repeat(2_000)}`;
  const urls = [
    ...Array.from({ length: 600 }, (_, n) => `https://receiver.test/${n}?n=${n}#part`),
    ...["http://receiver.test:8080/a", "https://[::1]:8443/", "HTTP://Receiver.Test:80", long],
  ];
  for (const url of [...urls, ...urls.toReversed()]) {
    const { hostname, host, protocol, port, pathname, search } = checkedUrl(url);
    const isSecure = protocol === "https:";
    expect(targetOf(url)).toEqual({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port || (isSecure ? 443 : 80)),
      isSecure,
      authority: host,
      path: pathname + search,
    });
  }
});

test("a URL of up to 1,024 characters is parsed once, and a longer one takes no memory", () => {
  const url = (length: number) => "http://receiver.test/".padEnd(length, "a");
  expect(targetOf(url(1_024))).toBe(targetOf(url(1_024)));
  expect(targetOf(url(1_025))).not.toBe(targetOf(url(1_025)));
});

test("a refused URL is refused each time", () => {
  for (const url of ["ftp://receiver.test/", "http://a:b@receiver.test/", "receiver", "ftp://a/"]) {
    for (let n = 0; n < 2; n++) expect(() => targetOf(url)).toThrow(EgressRefused);
  }
});
