import { expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

const PER_SECOND = 5_000;

/** Sends tail events at a steady rate until stopped; late timers catch up. */
function flood(sourceId: string) {
  const beganAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - beganAt) * PER_SECOND) / 1_000);
    for (const until = Math.min(due, sent + PER_SECOND); sent < until; sent++) {
      const messageId = `m${sent}`;
      const at = Date.now();
      const event = { type: "track", event: `Event ${sent}`, properties: { sent, even: sent % 2 } };
      api.tell(api.workspaceId, { stage: "received", sourceId, at, messageId, event });
    }
  }, 10);
  return { sent: () => sent, stop: () => clearInterval(timer) };
}

/** Replaces `waitForFunction`, whose `eval` the content security policy forbids. */
async function until(page: Page, condition: string): Promise<void> {
  while (!(await page.evaluate(condition))) await Bun.sleep(50);
}

describeWith(chromiumMissing)("the live tail", () => {
  test("stays responsive at 5,000 events per second and bounds its buffer", async () => {
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Flood" } });
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);
    await page.goto(`${api.url}/#/events`);
    await page.getByText("Waiting for events").waitFor();
    while (api.followers() === 0) await Bun.sleep(10);
    // Longest delay of a timer in the page.
    await page.evaluate(`{
      let last = performance.now();
      window.longest = 0;
      setInterval(() => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - last);
        last = now;
      }, 10);
    }`);
    const { sent, stop } = flood(source.id);
    await page.getByText("of 1,000 buffered").waitFor();
    const search = page.getByLabel("Search events");
    await search.fill('"even":1');
    await until(
      page,
      `[...document.querySelectorAll("tbody button")].every((it) => /[13579]$/.test(it.textContent))`,
    );
    await search.fill("");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.locator(".badge").filter({ hasText: "Paused" }).waitFor();
    const rows = page.locator("tbody tr");
    // Events from before the pause are still rendered; then the rows stay the same.
    let first = "";
    for (let last = "none"; first !== last; ) {
      last = first;
      await page.waitForTimeout(600);
      first = (await rows.first().textContent()) ?? "";
    }
    expect(await rows.count()).toBe(200);
    await page.getByRole("button", { name: "Resume" }).click();
    await until(
      page,
      `document.querySelector("tbody tr").textContent !== ${JSON.stringify(first)}`,
    );
    stop();
    const longest = Number(await page.evaluate("window.longest"));
    process.stderr.write(
      `live tail: ${sent()} events at ${PER_SECOND}/s, the page waited ${Math.round(longest)} ms at most\n`,
    );
    await close();
  }, 300_000);
});
