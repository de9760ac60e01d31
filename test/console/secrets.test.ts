import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { holds, soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

const SET = "Set · leave blank to keep";
const REMOVED = "Removed when you save";

describeWith(chromiumMissing)("a secret field", () => {
  let api: TestApi;
  let browser: Browser;
  useConsole((opened) => {
    ({ api, browser } = opened);
  });

  test("says whether a secret is set, and removes an optional one", async () => {
    const config = {
      webhookUrl: "https://hooks.test/in",
      secret: "hidden-hidden-hidden-hidden-hidden",
      headers: [{ from: "X-Key", to: "hidden", secret: true }],
    };
    const body = { name: "CRM", type: "webhook", config };
    const { destination } = (await api.send("POST", "/v2/destinations", { body })).body;
    const stored = () => api.catalog.destinations.get(api.workspaceId, destination.id).config;
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, `#/destinations/${destination.id}?tab=settings`);
    const field = (label: string) =>
      page.locator(".field").filter({ has: page.getByLabel(label, { exact: true }) });
    const status = (label: string, text: string) => field(label).getByText(text).waitFor();
    const save = page.getByRole("button", { name: "Save settings" });
    const saved = page.getByText("Settings saved; they apply from the next delivery");

    await status("Secret (optional)", SET);
    await page.getByText("Advanced", { exact: true }).click();
    await status("Client secret (optional)", "Not set");
    // A header keeps the secret only under its stored name.
    await status("To", SET);
    await page.getByLabel("From", { exact: true }).fill("X-Other");
    await status("To", "Not set");
    await page.getByLabel("From", { exact: true }).fill("X-Key");
    await status("To", SET);
    // A typed text is seen to be there.
    await page.getByLabel("To", { exact: true }).fill("other");
    await status("To", SET);
    await page.getByLabel("From", { exact: true }).fill("X-Other");
    await field("To").getByText(SET).waitFor({ state: "hidden" });
    await soon(async () => expect(await field("To").getByText("Not set").count()).toBe(0));
    await page.getByLabel("From", { exact: true }).fill("X-Key");
    await page.getByLabel("To", { exact: true }).fill("");
    expect(await page.content()).not.toContain("hidden-hidden");

    await page.getByRole("button", { name: "Remove Secret", exact: true }).click();
    await status("Secret (optional)", REMOVED);
    await page.getByRole("button", { name: "Keep Secret", exact: true }).click();
    await status("Secret (optional)", SET);
    await page.getByRole("button", { name: "Remove Secret", exact: true }).click();
    await save.click();
    await saved.waitFor();
    await status("Secret (optional)", "Not set");
    expect(stored()).toEqual({ webhookUrl: config.webhookUrl, headers: config.headers });

    await page.getByLabel("Secret (optional)", { exact: true }).fill(config.secret);
    await save.click();
    await status("Secret (optional)", SET);
    expect(stored().secret).toBe(config.secret);
    await close();
  });

  test("says it of a receiver of alerts, too", async () => {
    const body = { name: "On call", type: "webhook", url: "https://hooks.test/in" };
    const sent = { body: { ...body, authorization: "Bearer hidden" } };
    await api.send("POST", "/v2/alerts/receivers", sent);
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/alerts/receivers");
    const row = page.getByRole("button", { name: "On call", exact: true });
    await row.click();
    await page.getByText(SET).nth(1).waitFor();
    // The URL is required.
    const remove = page.getByRole("button", { name: /^Remove / });
    await soon(async () => expect(await remove.count()).toBe(1));
    await remove.click();
    await page.getByText(REMOVED).waitFor();
    await page.getByRole("button", { name: "Save receiver" }).click();
    await row.click();
    await page.getByText("Not set").waitFor();
    const { receivers } = (await api.send("GET", "/v2/alerts/receivers")).body;
    expect(receivers[0].secretsSet).toEqual(["/url"]);

    const dialog = page.getByRole("dialog", { name: "On call" });
    const name = dialog.getByLabel("Name");
    const leave = async () => {
      await dialog.getByRole("button", { name: "Close" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await leave();
    // A save that ends later neither closes the form that is open then, nor fails in silence.
    for (const status of [200, 503]) {
      const held = Promise.withResolvers<void>();
      await page.route("**/v2/alerts/receivers/*", async (route) => {
        if (route.request().method() !== "PUT") return await route.continue();
        await held.promise;
        await route.fulfill({ status, json: { receiver: receivers[0], message: "Busy" } });
      });
      await row.click();
      await dialog.getByRole("button", { name: "Save receiver" }).click();
      await leave();
      await row.click();
      await name.fill("Typed");
      const after = status === 200 ? page.waitForResponse("**/v2/alerts/receivers?*") : undefined;
      held.resolve();
      if (after === undefined) await page.getByText("Busy").waitFor();
      await after;
      await holds(200, async () => expect(await name.inputValue()).toBe("Typed"));
      await leave();
      await page.unrouteAll({ behavior: "wait" });
    }
    // A form that cannot be loaded can be left.
    await page.route("**/v2/alerts/receivers/*", (route) =>
      route.fulfill({ status: 503, json: { message: "Not now" } }),
    );
    await row.click();
    await dialog.getByText("Not now").waitFor();
    await leave();
    await close();
  });
});
