import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { DOWN, startManyDestinations } from "../api/status/_many-destinations.ts";
import { describeWith } from "../counterpart.ts";
import { openPage, signIn } from "./_browser.ts";

let api: TestApi;
let ids: string[];
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await ensureConsole();
  ({ api, ids } = await startManyDestinations());
  browser = await sharedBrowser();
}, 300_000);
afterAll(() => api?.stop());

const down = `Billing webhook ${DOWN}`;

describeWith(chromiumMissing)("the console with 500 destinations", () => {
  test("names the destination that is down first, and hides no issue without a link", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);
    const issues = page.getByRole("region", { name: "Issues" });
    await issues.getByRole("listitem").first().getByText(`${down}: No route`).waitFor();
    // The graph says how many destinations it leaves out.
    await page.getByText("most urgent or busiest of 500 destinations").waitFor();
    // Each node has its rate. An edge has a label under the pointer alone, since labels would overlap.
    const graph = page.locator(".graph");
    const rates = graph.locator(".node").filter({ hasText: /\d\/s/ });
    expect(await rates.count()).toBe(await graph.locator(".node").count());
    const labels = graph.locator(".edges text");
    expect(await labels.count()).toBe(13);
    expect(await labels.filter({ visible: true }).count()).toBe(0);
    await graph.locator(".node").first().hover();
    const { x, y } = (await graph.locator(".edges").first().boundingBox())!;
    await page.mouse.move(x + 50, y + 30);
    await labels.filter({ visible: true, hasText: "/s" }).waitFor();
    expect(await labels.filter({ visible: true }).count()).toBe(1);
    // The connections begin with the one that fails worst, and are in pages.
    const connections = page.getByRole("region", { name: "Connections" }).locator("tbody tr");
    await connections.first().getByText(down).waitFor();
    await connections.first().getByText("Down", { exact: true }).waitFor();
    expect(await connections.count()).toBe(25);
    await page.locator(".pages").filter({ hasText: "of 500" }).waitFor();
    expect(await issues.getByRole("listitem").count()).toBe(8);
    await issues.getByRole("button", { name: "Show 22 more" }).click();
    expect(await issues.getByRole("listitem").count()).toBe(30);
    await issues.getByRole("link", { name: "11 more in the list of destinations" }).click();
    await page.getByText("HTTP 503 from receiver").first().waitFor();
    expect(await page.getByText(down).count()).toBe(0);

    await page.getByRole("combobox", { name: "Health" }).selectOption({ label: "Down" });
    const row = page.getByRole("row").filter({ hasText: down });
    await row.getByText("No route").waitFor();
    await row.getByText("Down", { exact: true }).waitFor();
    expect(await page.getByRole("row").count()).toBe(2);
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
    await page.goto(`${api.url}/#/events`);
    const filter = page.getByRole("combobox", { name: "Destination" });
    await filter.locator("option", { hasText: down }).waitFor({ state: "attached" });
    expect(ids).toHaveLength(500);
    await close();
  }, 300_000);
});
