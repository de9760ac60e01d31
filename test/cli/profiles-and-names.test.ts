import { afterAll, expect, spyOn, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../src/api/client.ts";
import { connect } from "../../src/cli/connection/connection.ts";
import { idOf, namesOf } from "../../src/cli/connection/names.ts";
import { readProfile } from "../../src/cli/connection/profile.ts";
import { fitUsage } from "../../src/cli/terminal/usage.ts";
import { StartError } from "../../src/errors.ts";

const directory = mkdtempSync(join(tmpdir(), "profiles-"));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
function fileOf(text: string, mode = 0o600): string {
  const path = join(directory, `${files++}.toml`);
  writeFileSync(path, text, { mode });
  return path;
}

test("a profile is read by its name, or is the default one if there is one", () => {
  const shop = { server: "http://shop", token: "t" };
  const path = fileOf(
    '[default]\nserver = "http://a"\n[shop]\nserver = "http://shop"\ntoken = "t"',
  );
  expect(readProfile(path, undefined)).toEqual({ server: "http://a" });
  expect(readProfile(path, "default")).toEqual({ server: "http://a" });
  expect(readProfile(path, "shop")).toEqual(shop);
  expect(readProfile(fileOf('[shop]\ntoken = "t"'), undefined)).toEqual({});
  expect(readProfile(join(directory, "missing"), undefined)).toEqual({});
});

test.each([
  ["of another name", "[shop]", "shpo", /^Unknown profile shpo in .*; the nearest is shop$/],
  ["of no known name", "[shop]", "default", /^Unknown profile default in [^;]*$/],
  ["named as a member of objects", "[shop]", "__proto__", /^Unknown profile __proto__ in /],
  ["that is no table", "shop = 7", "shop", /^Expected a table for shop in /],
  ["that is a list", "default = [1]", undefined, /^Expected a table for default in /],
  ["with another key", "[shop]\nurl = 'x'", "shop", /^Unknown key url in .*; expected server and/],
  ["whose token is no text", "[shop]\ntoken = 7", "shop", /^Expected a text for token in /],
  ["whose server is no text", "[shop]\nserver = 7", "shop", /^Expected a text for server in /],
  ["in a file that is no TOML", "[", undefined, /^Cannot read the profiles in .*\.toml: /],
])("a profile %s is refused", (_, text, name, message) => {
  expect(() => readProfile(fileOf(text), name)).toThrow(StartError);
  expect(() => readProfile(fileOf(text), name)).toThrow(message);
});

test("a profile in a file that others may read, or that cannot be read, is refused", () => {
  for (const mode of [0o601, 0o610, 0o604, 0o640]) {
    const path = fileOf("[default]", mode);
    const message = `Other users can read the tokens in ${path}; run chmod 600 ${path}`;
    expect(() => readProfile(path, undefined)).toThrow(new StartError(message));
  }
  const missing = join(directory, "missing");
  const message = `Cannot read the profiles in ${missing}: no such file or directory`;
  expect(() => readProfile(missing, "shop")).toThrow(message);
});

test("an item is found by its id, its name, or its name in other letters, in this order", () => {
  const items = [
    { id: "b", name: "Hook" },
    { id: "1", name: "b" },
    { id: "2", name: "hook" },
    { id: "3", name: "Data warehouse" },
    { id: "4", name: "same" },
    { id: "5", name: "same" },
    { id: "6", name: "MAIL" },
    { id: "7", name: "Mail" },
  ];
  for (const [text, id] of [
    ["b", "b"],
    ["Hook", "b"],
    ["hook", "2"],
    ["data WAREHOUSE", "3"],
    ["B", "1"],
  ] as const) {
    expect(idOf("source", items, text)).toBe(id);
  }
  for (const [text, message] of [
    ["same", "Several items have this name; expected the id of a source: 4, 5"],
    ["mail", "Several items have this name; expected the id of a source: 6, 7"],
    ["HouSe", "Unknown source HouSe; the nearest is Data warehouse"],
    ["hok", "Unknown source hok; the nearest is Hook"],
    ["nothing alike", "Unknown source nothing alike"],
  ] as const) {
    expect(() => idOf("source", items, text)).toThrow(new StartError(message));
  }
});

/** A server with pages of at most 100 names, that says how many there are. */
function serverOf(count: number, total = count) {
  const all = Array.from({ length: count }, (_, n) => ({ id: `${n}`, name: `n${n}` }));
  const asked: unknown[] = [];
  const client = {
    async call(_: string, { query }: { query: { page: number; count: number } }) {
      asked.push(query);
      const from = (query.page - 1) * query.count;
      return { names: all.slice(from, from + query.count), total };
    },
  } as unknown as Client;
  return { client, asked, all };
}

test("names are read page by page, as far as there are any", async () => {
  for (const [count, total, pages] of [
    [0, 0, 1],
    [100, 100, 1],
    [101, 101, 2],
    // Items were deleted while pages were read.
    [100, 150, 2],
    [20_000, 20_000, 100],
  ] as const) {
    const { client, asked, all } = serverOf(count, total);
    expect(await namesOf(client, "source")).toEqual(all.slice(0, 10_000));
    expect(asked).toHaveLength(pages);
    expect(asked[0]).toEqual({ kind: "source", page: 1, count: 100 });
  }
});

test("a usage text is broken at 80 columns, its descriptions below their first line", () => {
  const long = "word ".repeat(20).trim();
  const broken = (text: string) => fitUsage(text).split("\n");
  expect(broken(`a\n${"b".repeat(80)}`)).toEqual(["a", "b".repeat(80)]);
  expect(broken(long)).toEqual(["word ".repeat(16).trim(), "word word word word"]);
  const indent = " ".repeat(10);
  expect(broken(`  --flag  ${long}`)).toEqual([
    `  --flag  ${"word ".repeat(14).trim()}`,
    `${indent}${"word ".repeat(6).trim()}`,
  ]);
  // A flag that leaves too little room stands above its description.
  const flag = `  --${"f".repeat(40)}`;
  const [first, ...rest] = broken(`${flag}  ${long}`);
  expect(first).toBe(flag);
  expect(rest.map((line) => line.search(/\S/))).toEqual(rest.map(() => 40));
  expect(rest.map((line) => line.trim()).join(" ")).toBe(long);
});

/** Address and token of the requests of a command with these flags and variables. */
async function connected(flags: Record<string, unknown>, variables: Record<string, string> = {}) {
  const names = ["PIXELMILL_SERVER", "PIXELMILL_TOKEN", "PIXELMILL_TOKEN_FILE"];
  const own = { ...process.env };
  for (const name of [...names, "PIXELMILL_PROFILE"]) delete process.env[name];
  Object.assign(process.env, { XDG_CONFIG_HOME: directory, ...variables });
  const fetching = spyOn(globalThis, "fetch").mockImplementation((async () =>
    Response.json({})) as never);
  try {
    const { server, client } = connect(flags);
    await client.call("GET /v2/workspace");
    const [url, init] = fetching.mock.calls[0] as unknown as [string, RequestInit];
    expect(url).toBe(`${server}/v2/workspace`);
    expect(init.signal).toBeInstanceOf(AbortSignal);
    return [server, new Headers(init.headers).get("authorization")];
  } finally {
    fetching.mockRestore();
    for (const name of [...names, "PIXELMILL_PROFILE", "XDG_CONFIG_HOME"]) {
      if (own[name] === undefined) delete process.env[name];
      else process.env[name] = own[name];
    }
  }
}

test("a command finds its server and token in flags, then variables, then a profile", async () => {
  mkdirSync(join(directory, "pixelmill"), { recursive: true });
  writeFileSync(
    join(directory, "pixelmill", "profiles.toml"),
    '[default]\nserver = "https://a/"\ntoken = "ta"\n[local]\ntoken = "tl"\n[bare]\nserver = "http://b"',
    { mode: 0o600 },
  );
  const tokenFile = join(directory, "token");
  writeFileSync(tokenFile, " tf\n");
  const variables = { PIXELMILL_SERVER: "http://v/x//", PIXELMILL_TOKEN: "tv" };
  const file = { PIXELMILL_TOKEN_FILE: tokenFile };
  const cases: [flags: Record<string, string>, Record<string, string>, string, string][] = [
    [{}, {}, "https://a", "ta"],
    [{ profile: "local" }, {}, "http://127.0.0.1:8081", "tl"],
    [{}, { PIXELMILL_PROFILE: "local" }, "http://127.0.0.1:8081", "tl"],
    [{}, variables, "http://v/x", "tv"],
    [{ server: "http://f", token: "t" }, variables, "http://f", "t"],
    // A profile that a flag names takes precedence over the environment.
    [{ profile: "default" }, variables, "https://a", "ta"],
    [{}, file, "https://a", "tf"],
    [{}, { ...variables, ...file }, "http://v/x", "tv"],
    [{ server: "https://a" }, {}, "https://a", "ta"],
  ];
  for (const [flags, own, server, token] of cases) {
    expect(await connected(flags, own)).toEqual([server, `Bearer ${token}`]);
  }
});

test.each([
  ["for another server than its profile's", { server: "http://other" }, "for http://other: set"],
  ["with a profile without one", { profile: "bare" }, "for http://b: set PIXELMILL_TOKEN"],
  ["with a space", { token: "a b" }, "without spaces"],
  ["with other characters", { token: "é" }, "without spaces"],
])("a command without a token, or with one %s, does not begin", async (_, flags, message) => {
  await expect(connected(flags)).rejects.toThrow(`Expected a token ${message}`);
});

test.each(["no", "ftp://a"])("a server %s is no URL of HTTP", async (server) => {
  const message = "Expected the server as a URL that begins with http:// or https://";
  await expect(connected({ token: "t", server })).rejects.toThrow(message);
});

test.each(["http://u@a", "http://:p@a", "http://a/?q", "http://a/#f"])(
  "a server %s has more than an address",
  async (server) => {
    const message = "Expected the URL of the server without user, query and fragment";
    await expect(connected({ token: "t", server })).rejects.toThrow(message);
  },
);

test("a token's file that cannot be read is named", async () => {
  const reading = connected({}, { PIXELMILL_TOKEN_FILE: "/none" });
  await expect(reading).rejects.toThrow("Cannot read PIXELMILL_TOKEN_FILE /none: no such file");
});
