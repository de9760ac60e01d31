import { expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
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
    await signIn(page, api.url, api.token);
    await page.goto(`${api.url}/#/search`);
    const rows = page.locator("tbody tr");
    await page.getByText("Page 119").waitFor();
    expect(await rows.count()).toBe(50);

    await page.getByRole("button", { name: "Load older" }).click();
    await page.getByText("100 events").waitFor();
    await page.getByRole("button", { name: "Load older" }).click();
    await page.getByText(`${EVENTS} events, end of results`).waitFor();
    expect(await rows.last().textContent()).toContain("Page 0");

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
    expect(await page.getByLabel("Property (path=value)").inputValue()).toBe("name=Page 8");
    await page.goBack();
    await page.getByLabel("Outcome").selectOption("Failed");
    await page.getByRole("main").getByRole("button", { name: "Search" }).click();
    await page.getByText("No results").waitFor();
    expect(await page.getByRole("link", { name: "Replay these" }).count()).toBe(0);

    // A shared link to a search without results.
    await page.goto(`${api.url}/#/search?by=event&text=nothing&from=2026-01-01T00:00`);
    await page.getByText("No results").waitFor();
    expect(await page.getByLabel("Value").inputValue()).toBe("nothing");
    await page.goto(`${api.url}/#/search?text=bob`);
    await page.getByText("Page 119").waitFor();
    await close();
  }, 300_000);
});
