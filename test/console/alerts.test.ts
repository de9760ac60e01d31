import { afterAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { startReceiver } from "../alerts/_scene.ts";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

const receiver = startReceiver();
let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});
afterAll(() => receiver.stop());

describeWith(chromiumMissing)("alerts", () => {
  test("a receiver is added and tested, and an alert is shown from its beginning to its end", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);
    await page.goto(`${api.url}/#/alerts/receivers`);
    await page.getByRole("button", { name: "New receiver" }).click();
    await page.getByLabel("Name").fill("On call");
    await page.getByLabel("Type").selectOption("Webhook");
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByRole("button", { name: "Add receiver" }).click();
    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByText("On call accepted the test notification").waitFor();
    expect(receiver.got.map(({ body }) => body.type)).toEqual(["alert.test"]);
    const receiverRow = page.getByRole("row").filter({ hasText: "On call" });
    await receiverRow.getByText("None yet").waitFor({ state: "detached" });
    // The URL is a secret.
    expect(await page.content()).not.toContain(receiver.url);

    receiver.answer(() => new Response("", { status: 404 }));
    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByText("On call did not accept the test: HTTP 404 from receiver").waitFor();
    await receiverRow.getByText("HTTP 404 from receiver").waitFor();
    receiver.answer(() => new Response());

    // The first receiver has created rules. The disk of the test is half full.
    await page.goto(`${api.url}/#/alerts/rules`);
    await page.getByRole("button", { name: "Disk nearly full", exact: true }).click();
    await page.getByLabel("Threshold (percent free)").fill("60");
    await page.getByLabel("Begins after (seconds)").fill("0");
    await page.getByLabel("Ends after (seconds)").fill("0");
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.getByRole("row").filter({ hasText: "60 percent free" }).waitFor();
    await api.evaluateAlerts();

    await page.goto(`${api.url}/#/alerts`);
    const row = page.getByRole("row").filter({ hasText: "The disk of the server has 50.0 GB" });
    await row.getByText("Open", { exact: true }).waitFor();
    await page.goto(`${api.url}/#/`);
    await page.getByRole("link", { name: "The disk of the server has 50.0 GB" }).waitFor();

    await page.goto(`${api.url}/#/alerts/rules`);
    await page.getByRole("button", { name: "Disk nearly full", exact: true }).click();
    await page.getByLabel("Threshold (percent free)").fill("10");
    await page.getByRole("button", { name: "Save rule" }).click();
    await page.getByRole("row").filter({ hasText: "10 percent free" }).waitFor();
    await api.evaluateAlerts();
    await page.goto(`${api.url}/#/alerts`);
    await row.getByText("Ended", { exact: true }).waitFor();
    await close();
  });
});
