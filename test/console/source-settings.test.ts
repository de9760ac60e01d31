import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { snippetOf } from "../../src/console/sources/snippet-code.ts";
import { sourceTexts } from "../../src/console/texts/sources.ts";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { EMPTY_SCREEN, openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

test.each(Object.entries(snippetOf))("the snippet %s has the address and the key", (_, code) => {
  for (const address of ["https://data.example.com", "http://localhost:8080/events"]) {
    const text = code(address, "key-1");
    expect(text).toContain("key-1");
    expect(text).toContain(address.replace(/^https?:\/\//, ""));
    expect(text).not.toContain("undefined");
  }
});

test("each snippet has a name and a hint", () => {
  expect(Object.keys(sourceTexts.snippets.kinds)).toEqual(Object.keys(snippetOf));
});

test("the snippet for Segment's page sends to the path below the address", () => {
  const text = snippetOf.segmentJavascript("http://localhost:8080/", "key-1");
  expect(text).toContain('apiHost: "localhost:8080/v1", protocol: "http"');
});

describeWith(chromiumMissing)("the page of a source", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });

  test("shows the snippet of each SDK, and stores settings", async () => {
    const body = { name: "Shop", settings: { bots: "mark" } };
    const { source } = (await api.send("POST", "/v2/sources", { body })).body;
    const stored = () => api.catalog.sources.get(api.workspaceId, source.id).settings;
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, `#/sources/${source.id}`);

    const code = page.locator("pre").filter({ hasText: source.writeKey });
    for (const [kind, { text, hint }] of Object.entries(sourceTexts.snippets.kinds)) {
      await page.getByLabel("SDK or snippet").selectOption({ label: text });
      await page.getByText(hint, { exact: true }).first().waitFor();
      await soon(async () => expect(await code.count(), kind).toBe(1));
    }

    const refused = page.getByRole("link", { name: "Search with reasons" });
    const href = (await refused.getAttribute("href"))!;
    expect(href).toBe(`#/search?sourceId=${source.id}&outcome=refused`);
    const older = page.locator(".empty").getByRole("link", { name: "Event search" });
    await soon(async () =>
      expect(await older.getAttribute("href")).toBe(`#/search?sourceId=${source.id}`),
    );

    const save = page.getByRole("button", { name: "Save settings" });
    await page.getByLabel("IP addresses").selectOption({ label: "Record the network only" });
    await page.getByText("Add the location of the IP address").click();
    const origins = page.getByLabel("Allowed origins (optional)");
    await origins.fill("https://example.com\nexample.net\n");
    await save.click();
    await page.locator(".wrong").getByText("Expected an origin").waitFor();
    expect(stored()).toEqual({ bots: "mark" });
    await origins.fill("https://example.com\n\n https://*.example.net");
    await page.getByLabel("Deduplication window (s)").fill("3600");
    await save.click();
    await page.getByText("Settings saved").waitFor();
    expect(stored()).toEqual({
      geoEnrichment: true,
      ip: "truncate",
      bots: "mark",
      allowedOrigins: ["https://example.com", "https://*.example.net"],
      dedupSeconds: 3_600,
    });
    await close();
  });

  test("says that a test event is stored once it is, and when it is no longer followed", async () => {
    const { source } = await api.client.call("POST /v2/sources", {
      body: { name: "Tried", type: "http" },
    });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, EMPTY_SCREEN);
    await page.route(/v2\/events\?/, (route) => route.abort());
    const isAnswered = Promise.withResolvers<void>();
    await page.route(/pixel\/v1\/track/, async (route) => {
      await isAnswered.promise;
      await route.fulfill({ headers: { "Access-Control-Allow-Origin": "*" } });
    });
    await page.goto(`${api.url}/#/sources/${source.id}`);
    await page.getByRole("button", { name: "Send test event" }).click();
    await page.getByText("Sending the event").waitFor();
    await soon(async () => expect(await page.getByText("Stored").count()).toBe(0));
    isAnswered.resolve();
    await page.getByText("no longer followed here").waitFor();
    await soon(async () => expect(await page.locator(".spinner").count()).toBe(0));
    await close();
  });

  test("says at a select that its names cannot be loaded, and the page of a destination, too", async () => {
    const { source } = await api.client.call("POST /v2/sources", {
      body: { name: "Cut off", type: "http" },
    });
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "Cut off", type: "file", config: { path: "a.jsonl" } },
    });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, EMPTY_SCREEN);
    await page.route(/v2\/(status\/names|code\?)/, (route) => route.abort());
    const error = page.locator(".wrong").filter({ hasText: "Can't reach the server" });
    for (const [path, label] of [
      [`sources/${source.id}`, "Connect to"],
      [`destinations/${destination.id}`, "Transformation"],
    ]) {
      await page.goto(`${api.url}/#/${path}`);
      await page.locator(".field").filter({ hasText: label! }).filter({ has: error }).waitFor();
    }
    await close();
  });

  test("keeps a dialog open when a selection of its text ends outside", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/sources/new");
    const name = page.getByRole("dialog").getByLabel("Name");
    await name.fill("Shop of shops");
    const box = (await name.boundingBox())!;
    await page.mouse.move(box.x + 90, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(5, box.y + box.height / 2, { steps: 3 });
    await page.mouse.up();
    await soon(async () => expect(await name.inputValue()).toBe("Shop of shops"));
    await page.mouse.click(5, box.y + box.height / 2);
    await name.waitFor({ state: "detached" });
    await close();
  });
});
