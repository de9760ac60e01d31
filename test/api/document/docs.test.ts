import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { docsRoutes } from "../../../src/api/document/docs.ts";
import { describeWith } from "../../counterpart.ts";
import { PAGE_PATIENCE_MS, soon } from "../../until.ts";
import { chromiumMissing, sharedBrowser } from "../_chromium.ts";
import { startApi, type TestApi } from "../_setup.ts";

/** `/docs` in a real Chromium, where the machine has one. */

/** Stands for the data plane: what the page sends there is looked at. */
const pixels: { url: URL; authorization: string | null }[] = [];
const dataPlane = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    const authorization = request.headers.get("authorization");
    pixels.push({ url: new URL(request.url), authorization });
    const headers = { "Content-Type": "image/gif", "Access-Control-Allow-Origin": "*" };
    return new Response("GIF89a", { headers });
  },
});

let api: TestApi;
let browser: Browser | undefined;
beforeAll(async () => {
  api = await startApi({ dataPlaneUrl: () => dataPlane.url.origin });
  if (chromiumMissing === undefined) browser = await sharedBrowser();
}, 300_000);
afterAll(async () => {
  await api.stop();
  await dataPlane.stop(true);
}, 300_000);

/** The page at an address within it, with what it complained of. */
async function read(hash: string, work: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser!.newContext({
    httpCredentials: { username: "me", password: api.token },
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_PATIENCE_MS);
  const complaints: string[] = [];
  page.on("console", (it) => it.type() === "error" && complaints.push(it.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${api.url}/docs${hash}`);
  await page.waitForSelector("details.operation", { state: "attached" });
  await work(page);
  await context.close();
  // The browser asks for credentials by itself, and for an icon.
  expect(complaints.filter((it) => !/401|favicon|404/.test(it))).toEqual([]);
}

describeWith(chromiumMissing)("/docs in Chromium", () => {
  test("the filter hides operations, links and groups that do not match", async () => {
    await read("", async (page) => {
      const all = await page.locator("nav a:visible").count();
      expect(all).toBeGreaterThan(60);
      await page.fill("input[type=search]", "rotate");
      await soon(async () =>
        expect(await page.locator("nav a:visible").allTextContents()).toEqual([
          "POST /v2/sources/{id}/rotate-write-key",
        ]),
      );
      await soon(async () =>
        expect(await page.locator("details.operation:visible").count()).toBe(1),
      );
      await soon(async () =>
        expect(await page.locator("nav h2:visible").allTextContents()).toEqual(["sources"]),
      );
      await page.fill("input[type=search]", "post libraries publish");
      await soon(async () =>
        expect(await page.locator("nav a:visible").count()).toBeGreaterThan(0),
      );
      await page.fill("input[type=search]", "");
      await soon(async () => expect(await page.locator("nav a:visible").count()).toBe(all));
    });
  }, 300_000);

  test("a deep link opens its operation, and so does a link of the page", async () => {
    await read("#post_v2_sources", async (page) => {
      await soon(async () =>
        expect(await page.locator("#post_v2_sources").getAttribute("open")).toBe(""),
      );
      await soon(async () =>
        expect(await page.locator("#post_v2_sources textarea").isVisible()).toBe(true),
      );
      await soon(async () => expect(await page.locator("details.operation[open]").count()).toBe(1));
      await page.click("nav a[href='#get_v2_tokens']");
      await soon(async () =>
        expect(await page.locator("#get_v2_tokens").getAttribute("open")).toBe(""),
      );
      await page.fill("input[type=search]", "rotate");
      await page.evaluate("location.hash = '#post_libraries'");
      await page.waitForSelector("#post_libraries[open]");
      await soon(async () =>
        expect(await page.locator("#post_libraries textarea").isVisible()).toBe(true),
      );
    });
  }, 300_000);

  test("sends a request to the plane of its operation", async () => {
    await read("#get_pixel_v1_track", async (page) => {
      const track = page.locator("#get_pixel_v1_track");
      for (const [name, value] of [
        ["event", "Signed Up"],
        ["writeKey", "k"],
        ["anonymousId", "a"],
      ]) {
        await track.locator("label", { hasText: name! }).first().locator("input").fill(value!);
      }
      await track.locator("button").click();
      await track.locator("pre").first().filter({ hasText: "image/gif" }).waitFor();
      const [{ url, authorization } = { url: new URL("none:"), authorization: "none" }] = pixels;
      expect(url.pathname).toBe("/pixel/v1/track");
      const sent = Object.fromEntries(url.searchParams);
      expect(sent).toEqual({ event: "Signed Up", writeKey: "k", anonymousId: "a" });
      // No credential of the control plane goes there.
      expect(authorization).toBeNull();

      await page.click("nav a[href='#post_v2_sources']");
      const create = page.locator("#post_v2_sources");
      await create.locator("button").click();
      await create.locator("pre").first().filter({ hasText: "writeKey" }).waitFor();
      const { sources } = await api.client.call("GET /v2/sources");
      expect(sources.map(({ name }) => name)).toEqual(["Shop"]);
    });
  }, 300_000);
});

test("the document has the Pixel API, under the data plane's address", async () => {
  const { paths } = (await api.send("GET", "/docs/json")).body;
  for (const kind of ["page", "track"]) {
    const { servers, get, post } = paths[`/pixel/v1/${kind}`];
    expect(servers).toMatchObject([{ url: dataPlane.url.origin }]);
    expect([get.security, post.security]).toEqual([[], []]);
    const required = get.parameters.filter((it: any) => it.required).map((it: any) => it.name);
    expect(required).toEqual(kind === "track" ? ["event", "writeKey"] : ["writeKey"]);
  }
});

test("the text of the document is made once", async () => {
  let texts = 0;
  const document = {
    toJSON() {
      texts += 1;
      return { openapi: "3.1.0" };
    },
  };
  const [, json] = docsRoutes(() => document as never);
  const call = { deps: {} } as never;
  for (let n = 0; n < 3; n++) {
    const answer = (await json.handle(call)) as Response;
    expect(await answer.json()).toEqual({ openapi: "3.1.0" });
  }
  expect(texts).toBe(1);
});
