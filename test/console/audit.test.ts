import { expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { EMPTY_SCREEN, openPage, signIn, useConsole } from "./_browser.ts";

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

describeWith(chromiumMissing)("the audit log", () => {
  test("tells who changed a source, with each field before and after", async () => {
    const person = { name: "Ada", email: "ada@example.com", permissions: [] };
    const member = await api.catalog.members.create(api.workspaceId, {
      ...person,
      permissions: ["workspace:admin"],
    });
    const own = { name: "laptop", permissions: [], memberId: member.id };
    const { secret } = await api.catalog.tokens.create(api.workspaceId, own);
    const sent = { token: secret };
    const { body } = await api.send("POST", "/v2/sources", { ...sent, body: { name: "Shop" } });
    const { id } = body.source;
    await api.send("PUT", `/v2/sources/${id}`, { ...sent, body: { name: "Store" } });
    await api.send("POST", `/v2/sources/${id}/rotate-write-key`, sent);
    for (let n = 0; n < 60; n++) {
      await api.catalog.credentials.put(api.workspaceId, `key${n}`, "hidden");
    }

    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token, EMPTY_SCREEN);
    // From the page of the source to its entries.
    await page.goto(`${api.url}/#/sources/${id}`);
    await page.getByRole("main").getByRole("link", { name: "Audit log" }).click();
    const rows = page.locator("tbody tr");
    await page.getByRole("button", { name: "source.create" }).waitFor();
    await soon(async () => expect(await rows.count()).toBe(3));
    await soon(async () => expect(await rows.first().textContent()).toContain("Ada (laptop)"));
    await page.getByRole("button", { name: "source.update" }).last().click();
    const dialog = page.getByRole("dialog");
    const change = dialog.locator("tbody tr", { hasText: "name" });
    await soon(async () =>
      expect(await change.locator("td").allTextContents()).toEqual(["name", "Shop", "Store"]),
    );
    await dialog.getByText("PUT /v2/sources/{id}", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "source.update" }).first().click();
    await page.getByText("Changed; secrets are not recorded").waitFor();
    await page.keyboard.press("Escape");

    // All entries, older ones on demand; filtered by action.
    await page.goto(`${api.url}/#/audit`);
    await page.getByText("50 entries").waitFor();
    await page.getByRole("button", { name: "Load older" }).click();
    await page.getByText("end of results").waitFor();
    await page.getByLabel("Action").selectOption("member");
    await page.getByRole("button", { name: "Apply filters" }).click();
    await page.getByText("1 entry, end of results").waitFor();
    const href = await page.getByRole("link", { name: "Export JSONL" }).getAttribute("href");
    expect(href).toBe("/v2/audit/export?action=member");
    await close();
  }, 300_000);
});
