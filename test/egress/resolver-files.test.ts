import { expect, test } from "bun:test";
import { parseHosts, parseResolverSettings } from "../../src/egress/dns/resolver-files.ts";

const nothing = { servers: [], search: [], dots: 1 };

test.each([
  ["nothing", "", nothing],
  [
    "servers, three at most",
    "nameserver 1.1.1.1\nnameserver ::1\nnameserver 2.2.2.2\nnameserver 3.3.3.3",
    { ...nothing, servers: ["1.1.1.1", "::1", "2.2.2.2"] },
  ],
  [
    "no server that is none",
    "nameserver example.com\nnameserver\nnameserver\t4.4.4.4  # x",
    { ...nothing, servers: ["4.4.4.4"] },
  ],
  ["comments", "# nameserver 1.1.1.1\n; search a.b\n", nothing],
  [
    "the last search list",
    "search a.b\nsearch c.d e.f .\n",
    { ...nothing, search: ["c.d", "e.f"] },
  ],
  ["a domain", "domain a.b c.d", { ...nothing, search: ["a.b"] }],
  [
    "six domains at most",
    "search a b c d e f g h",
    { ...nothing, search: ["a", "b", "c", "d", "e", "f"] },
  ],
  ["dots", "options timeout:1 ndots:5", { ...nothing, dots: 5 }],
  ["not too many dots", "options ndots:99", { ...nothing, dots: 15 }],
  ["no dots that are none", "options ndots:x rotate", nothing],
])("resolv.conf: %s", (_, text, settings) => {
  expect(parseResolverSettings(text)).toEqual(settings);
});

test("hosts: names of a line, in any case, of several lines", () => {
  const text =
    "127.0.0.1 localhost a # b\n#1.1.1.1 c\n::1\tlocalhost A\nx d\n1.1.1.1\n\n2.2.2.2 A a";
  expect(Object.fromEntries(parseHosts(text))).toEqual({
    localhost: ["127.0.0.1", "::1"],
    a: ["127.0.0.1", "::1", "2.2.2.2"],
  });
});
