import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Locator } from "playwright-core";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { DOWN, startManyDestinations } from "../api/status/_many-destinations.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { allViolationsOf } from "./_axe.ts";
import { buildConsole, openPage, signIn } from "./_browser.ts";

let api: TestApi;
let ids: string[];
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await buildConsole();
  ({ api, ids } = await startManyDestinations());
  browser = await sharedBrowser();
}, 300_000);
afterAll(() => api?.stop());

/** Waits until a field has a value. */
const expectValue = (field: Locator, value: string) =>
  soon(async () => expect(await field.inputValue()).toBe(value));

const down = `Billing webhook ${DOWN}`;

describeWith(chromiumMissing)("the console with 500 destinations", () => {
  test("shows the name and the reason of an issue on a phone", async () => {
    const { page, close } = await openPage(browser, { viewport: { width: 390, height: 844 } });
    await signIn(page, api.url, api.token);
    const message = page.getByRole("region", { name: "Issues" }).locator(".problem").first();
    await message.getByText(`${down}: No route`).waitFor();
    expect((await message.boundingBox())!.width).toBeGreaterThan(260);
    expect(await message.evaluate((it) => it.scrollHeight > it.clientHeight)).toBe(false);
    await close();
  });

  test("shows the whole name and state of each node of the graph, beside many figures", async () => {
    const { page, close } = await openPage(browser);
    await page.route("**/v2/overview*", async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const it of json.destinations ?? []) {
        Object.assign(it, { state: "ok", rejecting: true, lagEvents: 385, lagSeconds: 36 });
        Object.assign(it.rates, { delivered: 3.7, failed: 3.7 });
      }
      await route.fulfill({ response, json });
    });
    await signIn(page, api.url, api.token);
    const nodes = page.locator(".graph .node").filter({ hasText: "Partially rejecting" });
    await nodes.first().getByText("3.7/s failed").waitFor();
    for (const width of [1280, 1000, 390]) {
      await page.setViewportSize({ width, height: 860 });
      const cut = await nodes.evaluateAll(
        (all) =>
          all.filter((it) => {
            const { scrollWidth, clientWidth } = it.querySelector(".badge")!;
            return scrollWidth > clientWidth || it.scrollHeight > it.clientHeight;
          }).length,
      );
      expect({ width, cut }).toEqual({ width, cut: 0 });
    }
    await close();
  }, 300_000);

  test("names the destination that is down first, and hides no issue without a link", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);
    const issues = page.getByRole("region", { name: "Issues" });
    await issues.getByRole("listitem").first().getByText(`${down}: No route`).waitFor();
    // The graph says how many destinations it leaves out.
    await page.getByText("most urgent or busiest of 500 destinations").waitFor();
    // Each node has its rate. An edge has a label under the pointer alone, since labels would
    // overlap.
    const graph = page.locator(".graph");
    const rates = graph.locator(".node").filter({ hasText: /\d\/s/ });
    await soon(async () => expect(await rates.count()).toBe(await graph.locator(".node").count()));
    const labels = graph.locator(".edges text");
    await soon(async () => expect(await labels.count()).toBe(13));
    await soon(async () => expect(await labels.filter({ visible: true }).count()).toBe(0));
    await graph.locator(".node").first().hover();
    const { x, y } = (await graph.locator(".edges").first().boundingBox())!;
    await page.mouse.move(x + 50, y + 30);
    await labels.filter({ visible: true, hasText: "/s" }).waitFor();
    await soon(async () => expect(await labels.filter({ visible: true }).count()).toBe(1));
    // The connections begin with the one that fails worst, and are in pages.
    const connections = page.getByRole("region", { name: "Connections" }).locator("tbody tr");
    await connections.first().getByText(down).waitFor();
    await connections.first().getByText("Down", { exact: true }).waitFor();
    await soon(async () => expect(await connections.count()).toBe(25));
    await page.locator(".pages").filter({ hasText: "of 500" }).waitFor();
    await soon(async () => expect(await issues.getByRole("listitem").count()).toBe(8));
    await issues.getByRole("button", { name: "Show 22 more" }).click();
    await soon(async () => expect(await issues.getByRole("listitem").count()).toBe(30));
    await issues.getByRole("link", { name: "11 more in the list of destinations" }).click();
    await page.getByText("HTTP 503 from receiver").first().waitFor();
    // The list has the destinations in all states, those in the most urgent one first.
    await page.locator("tbody tr").first().getByText(down).waitFor();

    await page.getByRole("combobox", { name: "Health" }).selectOption({ label: "Down" });
    const row = page.getByRole("row").filter({ hasText: down });
    await row.getByText("No route").waitFor();
    await row.getByText("Down", { exact: true }).waitFor();
    await soon(async () => expect(await page.getByRole("row").count()).toBe(2));
    await row.getByRole("link", { name: down }).click();
    const trouble = page.getByRole("region", { name: "What is wrong" });
    await trouble.getByText("No route").waitFor();
    await trouble.getByRole("link", { name: "Edit settings" }).click();
    await page.getByLabel("Webhook URL").waitFor();
    await close();
  }, 300_000);

  test("finds one by name from the palette, also beyond the first page", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog").getByRole("combobox").fill("billing webhook 499");
    await page.getByRole("option", { name: "Billing webhook 499" }).click();
    await page.getByRole("heading", { level: 1, name: "Billing webhook 499" }).waitFor();
    await close();
  }, 300_000);

  test("shows a token with events:read names, health and errors, and no settings", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, await api.tokenWith(["events:read"]));
    await page.getByRole("link", { name: `${down}: No route` }).click();
    await page.getByRole("heading", { level: 1, name: down }).waitFor();
    await page.getByRole("region", { name: "What is wrong" }).getByText("No route").waitFor();
    await page.getByText("Website").waitFor();
    await page.getByRole("main").getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByText("Requires workspace:admin").first().waitFor();
    // The page of a source is no dead end either.
    await page.goto(`${api.url}/#/sources`);
    await page.getByRole("link", { name: "Website" }).click();
    await page.getByRole("heading", { level: 1, name: "Website" }).waitFor();
    await page.getByRole("heading", { name: "Recent events" }).waitFor();
    await page.getByText("destinations require workspace:admin").waitFor();
    await close();
  }, 300_000);

  test("searches a select of 500 names on the server, with the pointer and with keys", async () => {
    const { page, close } = await openPage(browser);
    const answers: number[] = [];
    page.on("response", async (it) => {
      if (it.url().includes("/v2/status/names"))
        answers.push((await it.body().catch(() => "")).length);
    });
    await signIn(page, api.url, await api.tokenWith(["events:read"]), "#/events");
    const field = page.getByRole("combobox", { name: "Destination" });
    await field.and(page.locator("input")).click();
    const options = page.locator(".combobox [role=option]:visible");
    // All, the first page of names by name, and the row that loads the second page.
    await page.getByRole("option", { name: "450 more" }).click();
    await page.getByRole("option", { name: "400 more" }).waitFor();
    await soon(async () => expect(await options.count()).toBe(102));
    expect(await allViolationsOf(page)).toEqual([]);
    await field.fill(`webhook ${DOWN}`);
    await page.getByRole("option", { name: down, exact: true }).click();
    expect(page.url()).toContain(`destinationId=${ids[DOWN]}`);
    await soon(async () => expect(await field.inputValue()).toBe(down));
    await soon(async () => expect(await options.count()).toBe(0));
    // A reloaded screen knows the name of the selected id.
    await page.reload();
    await expectValue(field, down);

    await field.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.type("49");
    await page.getByRole("option", { name: "Billing webhook 490" }).waitFor();
    await page.keyboard.press("Escape");
    await expectValue(field, down);
    await page.keyboard.press("ArrowDown");
    const answer = Promise.withResolvers<void>();
    await page.route("**/v2/status/names?*", async (request) => {
      await answer.promise;
      await request.continue();
    });
    await page.keyboard.type("webhook 490");
    // Results of an earlier text are shown until the new ones come, and Enter selects none of them.
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await soon(async () => expect(await field.inputValue()).toBe("webhook 490"));
    answer.resolve();
    await soon(async () => expect(await options.count()).toBe(2));
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expectValue(field, "Billing webhook 490");
    expect(page.url()).toContain(`destinationId=${ids[490]}`);
    // No answer has all names.
    expect(Math.max(...answers)).toBeLessThan(10_000);
    await close();
  }, 300_000);

  test("shows the connections of one source in pages, and connects one that no page has", async () => {
    const unconnected = await api.catalog.destinations.create(api.workspaceId, {
      name: "Zoo",
      type: "webhook",
      config: { webhookUrl: "https://receiver.test/" },
    });
    const { items } = api.catalog.sources.list(api.workspaceId, 1);
    const { page, close } = await openPage(browser);
    const lists: string[] = [];
    page.on(
      "request",
      (it) => /v2\/(connections|destinations)/.test(it.url()) && lists.push(it.url()),
    );
    await signIn(page, api.url, api.token, `#/sources/${items[0]!.id}`);
    const pages = page.locator("nav.pages").filter({ hasText: "1 to 100 of 500" });
    await pages.getByRole("button", { name: "Next page" }).click();
    await page.locator("nav.pages").filter({ hasText: "101 to 200 of 500" }).waitFor();
    await page.getByRole("link", { name: "Billing webhook 150", exact: true }).waitFor();
    const field = page.getByRole("combobox", { name: "Connect to" });
    await field.click();
    await field.fill("zoo");
    await page.getByRole("option", { name: "Zoo" }).click();
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.locator("nav.pages").filter({ hasText: "of 501" }).waitFor();
    const pair = { sourceId: items[0]!.id, destinationId: unconnected.id };
    expect([...api.catalog.connections.eachOf(api.workspaceId, pair)]).toHaveLength(1);
    expect(lists.every((it) => /connections(\?sourceId|$)/.test(it))).toBe(true);
    // Without connections there is no row for no choice. The list is empty until names are found.
    const other = await api.catalog.sources.create(api.workspaceId, { name: "Unconnected" });
    await page.goto(`${api.url}/#/sources/${other.id}`);
    await field.fill("none such");
    await page.getByText("No results for").waitFor();
    const answer = Promise.withResolvers<void>();
    await page.route("**/v2/status/names?*", async (request) => {
      await answer.promise;
      await request.continue();
    });
    await field.fill("zoo");
    await page.keyboard.press("ArrowDown");
    answer.resolve();
    await page.getByRole("option", { name: "Zoo" }).waitFor();
    await page.keyboard.press("Enter");
    await expectValue(field, "Zoo");
    await close();
  }, 300_000);
});
