import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { axeViolations, openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const settings = (page: Page) => page.getByLabel("Settings (JSON)");
const config = { hostName: "kafka.test", port: "9092", topic: "events" };

describeWith(chromiumMissing)("a destination that rudder-server delivers", () => {
  test("is created and changed as JSON with fields for secrets, and shows no figures", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/destinations/new");
    await page.getByLabel("Name").fill("Theirs");
    await page.getByLabel("Type").selectOption({ label: "KAFKA (by rudder-server)" });
    await soon(async () => expect(await button(page, "Test settings").count()).toBe(0));
    // The browser refuses to submit what is no object.
    await settings(page).fill("[]");
    await button(page, "Create destination").click();
    await page.getByText("Expected a JSON object").waitFor();
    await settings(page).fill(JSON.stringify(config));
    await page.getByLabel("Password").fill("hidden");
    await button(page, "Create destination").click();
    await page.getByText("rudder-server delivers to this destination").waitFor();
    const { destinations } = await api.client.call("GET /v2/destinations");
    const { id, deliveredBy } = destinations.find(({ name }) => name === "Theirs")!;
    expect(deliveredBy).toBe("rudder-server");
    const stored = () => api.catalog.destinations.get(api.workspaceId, id).config;
    expect(stored()).toEqual({ ...config, password: "hidden" });

    for (const text of ["Live tail", "Delivered, last minute", "Dead letters", "Test event"]) {
      await soon(async () =>
        expect([text, await page.locator("main").getByText(text, { exact: true }).count()]).toEqual(
          [text, 0],
        ),
      );
    }
    expect(await axeViolations(page)).toEqual([]);

    await page.goto(`${api.url}/#/destinations/${id}?tab=settings`);
    await settings(page).waitFor();
    await soon(async () => expect(JSON.parse(await settings(page).inputValue())).toEqual(config));
    const changed = { ...config, syncFrequency: "30" };
    await settings(page).fill(JSON.stringify(changed));
    await button(page, "Save settings").click();
    await page.getByText("Settings saved").waitFor();
    expect(stored()).toEqual({ ...changed, password: "hidden" });
    // Discarded changes leave no text either, not even one that was no JSON.
    await settings(page).fill(JSON.stringify({ hostName: "other.test" }));
    await settings(page).fill("{");
    await page.getByText("Expected a JSON object").waitFor();
    await button(page, "Discard changes").click();
    await soon(async () => expect(JSON.parse(await settings(page).inputValue())).toEqual(changed));
    await button(page, "Save settings").click();
    await page.getByText("Settings saved").nth(1).waitFor();
    expect(await axeViolations(page)).toEqual([]);

    await page.goto(`${api.url}/#/destinations`);
    const row = page.getByRole("row").filter({ hasText: "Theirs" });
    await row.getByText("By rudder-server").waitFor();
    await close();
  });
});
