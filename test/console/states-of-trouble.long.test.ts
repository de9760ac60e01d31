import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { startApi, type TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { openPage, signIn } from "./_browser.ts";

let api: TestApi;
let browser: Browser;
/** Why the server is not ready. */
let fullDisk: string | undefined;
/** Revision whose every batch fails. */
let suspended: string | undefined;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await ensureConsole();
  api = await startApi({
    ready: () => {
      const check = fullDisk === undefined ? { ok: true } : { ok: false, message: fullDisk };
      return { ready: check.ok, checks: { delivery: check }, warnings: [] };
    },
    suspensions: () =>
      suspended === undefined
        ? []
        : [{ transformationVersionId: suspended, name: "T", until: 0, reason: "Error: no seats" }],
  });
  browser = await sharedBrowser();
}, 300_000);
afterAll(() => api?.stop());

const made = async (path: string, body: object) => (await api.send("POST", path, { body })).body;

async function open(place: string) {
  const opened = await openPage(browser);
  await signIn(opened.page, api.url, api.token, `#/${place}`);
  return opened;
}

const code = "export const transformEvent = (event) => event;";

describeWith(chromiumMissing)("the console", () => {
  test("says that live code is suspended, and why, on its page and in the list", async () => {
    const draft = { name: "Prices", language: "javascript", code };
    const { id, versionId } = await made("/transformations?publish=true", draft);
    suspended = versionId;
    const { page, close } = await open("transformations");
    const row = page.getByRole("row").filter({ hasText: "Prices" });
    await row.getByText("Suspended", { exact: true }).waitFor();
    await soon(async () => expect(await row.getByText("Live", { exact: true }).count()).toBe(0));
    await page.goto(`${api.url}/#/transformations/${id}`);
    await page.getByRole("alert").filter({ hasText: "Error: no seats" }).waitFor();
    await soon(async () => expect(await page.getByText("Live", { exact: true }).count()).toBe(0));
    // An open page says so too when that ends and begins.
    suspended = undefined;
    await page.getByText("Live", { exact: true }).waitFor();
    suspended = versionId;
    await page.getByRole("alert").filter({ hasText: "Error: no seats" }).waitFor();
    suspended = undefined;
    await close();
  }, 300_000);

  test("looks why as soon as a request has failed, and not again for each", async () => {
    const { page, close } = await openPage(browser);
    // Without polls only the failed requests can show the trouble.
    await page.addInitScript(() => {
      globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
    });
    await signIn(page, api.url, api.token, "#/sources");
    await page.getByRole("heading", { name: "Sources" }).waitFor();
    fullDisk = "The ledger cannot be written: the disk of /data is full (0 bytes free)";
    let asked = 0;
    page.on("request", (it) => {
      if (new URL(it.url()).pathname === "/ready") asked += 1;
    });
    await page.route("**/v2/**", (it) => it.fulfill({ status: 503, json: { message: "full" } }));
    await page.goto(`${api.url}/#/destinations`);
    await page
      .getByRole("status")
      .filter({ hasText: `delivery: ${fullDisk}` })
      .waitFor();
    expect(asked).toBeLessThanOrEqual(2);
    fullDisk = undefined;
    await close();
  }, 300_000);

  test("says on each screen why the server does not deliver, until it does again", async () => {
    const { destination } = await made("/v2/destinations", {
      name: "Quiet tool",
      type: "webhook",
      config: { webhookUrl: "http://127.0.0.1:9/" },
    });
    const { source } = await made("/v2/sources", { name: "Quiet shop" });
    await made("/v2/connections", { sourceId: source.id, destinationId: destination.id });
    fullDisk = "The ledger cannot be written: the disk of /data is full (0 bytes free)";
    const { page, close } = await open("destinations");
    const row = page.getByRole("row").filter({ hasText: "Quiet tool" });
    await row.getByText("Server not delivering").waitFor();
    await page.goto(`${api.url}/#/destinations/${destination.id}`);
    await page.getByText("Server not delivering").waitFor();
    await page.goto(`${api.url}/#/`);
    await page.getByText("Server not delivering").first().waitFor();
    await soon(async () => expect(await page.getByText("Healthy").count()).toBe(0));
    const trouble = page.getByRole("status").filter({ hasText: `delivery: ${fullDisk}` });
    for (const place of ["destinations", "sources", "dead-letters", "alerts", "events"]) {
      await page.goto(`${api.url}/#/${place}`);
      await trouble.waitFor();
    }
    // These screens list it themselves.
    await page.goto(`${api.url}/#/system`);
    await page.getByText(fullDisk).waitFor();
    await soon(async () => expect(await trouble.count()).toBe(0));
    await page.goto(`${api.url}/#/sources`);
    await trouble.waitFor();
    fullDisk = undefined;
    await trouble.waitFor({ state: "detached" });
    await page.goto(`${api.url}/#/destinations/${destination.id}`);
    await page.getByText("Healthy").waitFor();
    await close();
  }, 300_000);

  test("says that code was not published because its test failed, with the result in view", async () => {
    const draft = { name: "Failing", language: "javascript", code };
    const { id } = await made("/transformations", draft);
    const { page, close } = await open(`transformations/${id}`);
    await page.getByRole("textbox", { name: /^Code of/ }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("export const transformEvent = (e) => e.missing.field;");
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("Not published: the test failed").waitFor();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("TypeError").first().waitFor();
    const { y } = (await result.boundingBox())!;
    expect(y).toBeLessThan(page.viewportSize()!.height);
    await soon(async () => expect(await page.getByRole("dialog").count()).toBe(0));
    await close();
  }, 300_000);

  test("says what an event in flight waits for, and since when", async () => {
    const receiver = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("no room", { status: 503 }),
    });
    const { destination } = await made("/v2/destinations", {
      name: "Mail tool",
      type: "webhook",
      config: { webhookUrl: receiver.url.href },
    });
    const { source } = await made("/v2/sources", { name: "Shop" });
    await made("/v2/connections", { sourceId: source.id, destinationId: destination.id });
    await api.page(source.id, "anonymousId=a&name=Home");
    const path = `/v2/status/destinations/${destination.id}`;
    while ((await api.send("GET", path)).body.destination.reason === undefined) await Bun.sleep(20);
    const { page, close } = await open(`events?destinationId=${destination.id}`);
    await page.getByRole("button", { name: "Home" }).click();
    const outcome = page.getByRole("dialog").getByRole("region", { name: "Mail tool" });
    await outcome.getByText(/^Waits (until|for)/).waitFor();
    await outcome.getByText("HTTP 503 from receiver; began").waitFor();
    await outcome.getByText("1 event pending at this destination").waitFor();
    await close();
    await receiver.stop(true);
  }, 300_000);

  test("says that a save without a response may have succeeded, and finds out by the next save", async () => {
    const { destination } = await made("/v2/destinations", {
      name: "Hook",
      type: "webhook",
      config: { webhookUrl: "http://127.0.0.1:9/" },
    });
    const { page, close } = await open(`destinations/${destination.id}?tab=settings`);
    const stored = async () =>
      (await api.send("GET", `/v2/destinations/${destination.id}`)).body.destination.name;
    await page.getByLabel("Name", { exact: true }).fill("Saved once");
    // The server makes the change, and its answer is lost.
    await page.route(`**/v2/destinations/${destination.id}`, async (request) => {
      if (request.request().method() !== "PUT") return await request.continue();
      await request.fetch();
      await request.abort();
    });
    const save = page.getByRole("button", { name: "Save settings" });
    await save.click();
    await page.getByText("The change may or may not have been made. Try again").waitFor();
    expect(await stored()).toBe("Saved once");
    await page.unrouteAll({ behavior: "wait" });
    await save.click();
    await page.getByText("Settings saved").waitFor();
    await soon(async () =>
      expect(await page.getByText("Saved together with changes by others").count()).toBe(0),
    );
    await soon(async () => expect(await page.getByText("Changed by others").count()).toBe(0));
    // A new item may be there already.
    await page.goto(`${api.url}/#/sources/new`);
    await page.getByLabel("Name").fill("Shop again");
    await page.route("**/v2/sources", async (request) => await request.abort());
    await page.getByRole("button", { name: "Create source" }).click();
    await page.getByText("check before you try again").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await close();
  }, 300_000);
});
