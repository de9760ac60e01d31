import { expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { soon } from "../until.ts";
import { wideElementsOf } from "./_axe.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

const EVENTS = 120;

describeWith(chromiumMissing)("the event search", () => {
  test("finds the events of a user, opens one and loads older events", async () => {
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Shop" } });
    for (let n = 0; n < EVENTS; n++) {
      await api.page(source.id, `name=Page%20${n}&userId=${n === 7 ? "ann" : "bob"}`);
    }
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, "#/search");
    const rows = page.locator("tbody tr");
    await page.getByText("Page 119").waitFor();
    await soon(async () => expect(await rows.count()).toBe(50));

    await page.getByRole("button", { name: "Load older" }).click();
    await page.getByText("100 events").waitFor();
    await page.getByRole("button", { name: "Load older" }).click();
    await page.getByText(`${EVENTS} events, end of results`).waitFor();
    await soon(async () => expect(await rows.last().textContent()).toContain("Page 0"));

    await page.getByLabel("Value").fill("ann");
    await page.getByRole("main").getByRole("button", { name: "Search" }).click();
    await page.getByText("1 event, end of results").waitFor();
    expect(page.url()).toContain("text=ann");
    await page.getByRole("button", { name: "Page 7" }).click();
    const opened = page.getByRole("dialog");
    await opened.getByText('"ann"').first().waitFor();
    await opened.getByRole("button", { name: "Close" }).last().click();

    await page.getByLabel("Field").selectOption("Message id");
    await page.getByRole("main").getByRole("button", { name: "Search" }).click();
    await page.getByText("No results", { exact: true }).first().waitFor();

    await page.getByLabel("Field").selectOption("Property (path=value)");
    await page.getByLabel("Value").fill("name=Page 8");
    await page.getByRole("main").getByRole("button", { name: "Search" }).click();
    await page.getByText("1 event, end of results").waitFor();
    await page.getByText("No destination", { exact: true }).waitFor();
    const href = await page.getByRole("link", { name: "Export JSONL" }).getAttribute("href");
    expect(href).toBe("/v2/events/search/export?property=name%3DPage+8");

    await page.getByRole("link", { name: "Replay these" }).click();
    await page.getByRole("button", { name: "Start replay" }).waitFor();
    await soon(async () =>
      expect(await page.getByLabel("Property (path=value)").inputValue()).toBe("name=Page 8"),
    );
    await page.goBack();
    await page.getByLabel("Outcome").selectOption("Failed");
    await page.getByRole("main").getByRole("button", { name: "Search" }).click();
    await page.getByText("No results").waitFor();
    await soon(async () =>
      expect(await page.getByRole("link", { name: "Replay these" }).count()).toBe(0),
    );

    // A shared link to a search without results.
    await page.goto(`${api.url}/#/search?by=event&text=nothing&from=2026-01-01T00:00`);
    await page.getByText("No results").waitFor();
    await soon(async () => expect(await page.getByLabel("Value").inputValue()).toBe("nothing"));
    await page.goto(`${api.url}/#/search?text=bob`);
    await page.getByText("Page 119").waitFor();
    await close();
  }, 300_000);

  test("shows each outcome on one line of a phone", async () => {
    const made = async (path: string, body: object) =>
      (await api.send("POST", path, { body })).body;
    const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const { source } = await made("/v2/sources", { name: "Phone" });
    const names = ["Warehouse", "Archive", "Billing"];
    for (const name of names) {
      const config = { webhookUrl: receiver.url.href };
      const { destination } = await made("/v2/destinations", { name, type: "webhook", config });
      await made("/v2/connections", { sourceId: source.id, destinationId: destination.id });
    }
    await api.page(source.id, "name=Seen&userId=phone");
    const path = "/v2/events/search?userId=phone";
    await waitFor(async () => {
      const [found] = (await api.send("GET", path)).body.events;
      return found?.outcomes.every((it: { outcome: string }) => it.outcome === "settled");
    });
    const { page, close } = await openPage(browser, { viewport: { width: 390, height: 844 } });
    await signIn(page, api.url, api.token, "#/search?text=phone");
    for (const name of names) {
      const badge = page.locator("td .badge").filter({ hasText: name });
      await badge.filter({ hasText: "delivered or dropped" }).waitFor();
      expect((await badge.boundingBox())!.height).toBeLessThan(30);
    }
    // The whole time, which the focus shows, makes the page no wider.
    await page.getByRole("button", { name: "Seen" }).focus();
    await page.keyboard.press("Shift+Tab");
    await page.locator("time:focus").waitFor();
    expect(await wideElementsOf(page)).toEqual([]);
    await close();
    await receiver.stop(true);
  }, 300_000);
});
