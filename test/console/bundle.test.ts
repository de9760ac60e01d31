import { afterAll, beforeAll, expect, test } from "bun:test";
import { ensureConsole, sourcesOfConsole } from "../../src/console/bundle.ts";
import { startApi, type TestApi } from "../api/_setup.ts";

let api: TestApi;
beforeAll(async () => {
  await ensureConsole();
  api = await startApi();
});
afterAll(() => api.stop());

const KB = 1_000;
const get = (path: string, init: RequestInit = {}) => fetch(api.url + path, init);

/** Fetches a path with gzip; `bytes` is the size of the compressed body. */
async function fetchGzip(path: string): Promise<{ bytes: number; text: string; headers: Headers }> {
  const response = await get(path, {
    decompress: false,
    headers: { "Accept-Encoding": "gzip" },
  } as RequestInit);
  const body = new Uint8Array(await response.arrayBuffer());
  expect([path, response.status]).toEqual([path, 200]);
  expect(response.headers.get("content-encoding")).toBe("gzip");
  const text = Buffer.from(Bun.gunzipSync(body)).toString();
  return { bytes: body.length, text, headers: response.headers };
}

/** All scripts of the console, and those that the page loads first. */
async function scripts() {
  const { text } = await fetchGzip("/");
  const first = [...text.matchAll(/(?:src|href)="(\/console\/[^"]+\.js)"/g)].map((it) => it[1]!);
  const all = new Map<string, number>();
  /** The code formatter, which the editor loads when it is used for the first time. */
  let formatter = "";
  const left = [...first];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (all.has(path)) continue;
    const { bytes, text } = await fetchGzip(path);
    all.set(path, bytes);
    if (text.includes("meriyah")) formatter = path;
    for (const [, name] of text.matchAll(/"\.\/([\w.-]+\.js)"/g)) left.push(`/console/${name}`);
  }
  return { first, all, formatter };
}

test("scripts take at most 40 KB before a screen is opened, 350 KB without the formatter, and 140 KB for it", async () => {
  const { first, all, formatter } = await scripts();
  const sum = (paths: Iterable<string>) =>
    [...paths].reduce((total, path) => total + (all.get(path) ?? 0), 0);
  expect(all.size).toBeGreaterThan(first.length);
  expect(sum(first)).toBeGreaterThan(0);
  expect(sum(first)).toBeLessThan(40 * KB);
  expect(sum([formatter])).toBeGreaterThan(0);
  expect(sum([formatter])).toBeLessThan(140 * KB);
  expect(first).not.toContain(formatter);
  expect(sum(all.keys()) - sum([formatter])).toBeLessThan(350 * KB);
});

test("the sources of the bundle are the console's files and what they import of other folders", () => {
  const sources = sourcesOfConsole();
  expect(sources).toContain("src/console/style/base.css");
  expect(sources).toContain("src/api/client.ts");
  // The client imports it.
  expect(sources).toContain("src/json/parse-exact.ts");
  // Only types are imported of it.
  expect(sources).not.toContain("src/api/route-table.ts");
});

test("the page allows only its own scripts, and no framing", async () => {
  const { headers, text } = await fetchGzip("/");
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).not.toContain("unsafe");
  for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"]) {
    expect(policy).toContain(rule);
  }
  expect(policy).toContain("require-trusted-types-for 'script'");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cache-control")).toBe("no-store");
  // No inline scripts or styles, and no other origins.
  expect(text).not.toMatch(/<script(?![^>]* src="\/console\/)|<style|style=|\son\w+=/);
  expect(text).not.toMatch(/https?:(?!\/\/www\.w3\.org)/);
});

test("scripts have names by their content and are cached as immutable", async () => {
  const { text } = await fetchGzip("/");
  const [, path = ""] = /src="([^"]+)"/.exec(text) ?? [];
  const { headers } = await fetchGzip(path);
  expect(headers.get("cache-control")).toContain("immutable");
  expect(headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  for (const encoding of ["identity", "gzip;q=0"]) {
    const plain = await get(path, { headers: { "Accept-Encoding": encoding } });
    expect([encoding, plain.headers.get("content-encoding")]).toEqual([encoding, null]);
    expect((await plain.text()).length).toBeGreaterThan(10 * KB);
  }
});

test("the console answers HEAD like GET, other methods with 405, and unknown assets with 404", async () => {
  const head = await get("/", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect((await get("/", { method: "POST" })).status).toBe(405);
  for (const path of ["/console/none.js", "/console/", "/console/__proto__", "/console/../main.ts"])
    expect([path, (await get(path)).status]).toEqual([path, 404]);
});

test("the console refuses unknown Host headers, which DNS rebinding sends", async () => {
  const refused = await get("/", { headers: { Host: "evil.example" } });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ message: expect.stringContaining("admin.hosts") });
});
