import { expect, onTestFinished, test } from "bun:test";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  followFile,
  parseHosts,
  parseResolverSettings,
} from "../../src/egress/dns/resolver-files.ts";

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

test("a file is parsed when it has changed, and a missing one is empty", () => {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-follow-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "file");
  const parsed: string[] = [];
  const read = followFile(path, (text) => {
    parsed.push(text);
    return `<${text}>`;
  });
  const write = (text: string, seconds: number) => {
    writeFileSync(path, text);
    utimesSync(path, seconds, seconds);
  };
  expect(read()).toBe("<>");
  write("one", 1);
  expect([read(), read(), read()]).toEqual(["<one>", "<one>", "<one>"]);
  write("two", 2);
  expect([read(), read()]).toEqual(["<two>", "<two>"]);
  rmSync(path);
  expect(read()).toBe("<>");
  write("two", 2);
  expect(read()).toBe("<two>");
  expect(parsed.filter((text) => text !== "")).toEqual(["one", "two", "two"]);
});
