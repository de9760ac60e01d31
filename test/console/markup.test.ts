import { afterAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { until } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

/**
 * Sets `broken` when a page renders it as HTML, as a link or as a script; the quotes end
 * attributes.
 */
const markup = `"'><img src=x onerror=window.broken=1><script>window.broken=1</script>\${window.broken=1}`;

const refusing = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response(markup, { status: 422 }),
});
let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});
afterAll(() => refusing.stop(true));

/** Creates items whose every text is markup. */
async function fill() {
  const { call } = api.client;
  const { source } = await call("POST /v2/sources", { body: { name: `S${markup}` } });
  const { destination } = await call("POST /v2/destinations", {
    body: { name: `D${markup}`, type: "webhook", config: { webhookUrl: refusing.url.href } },
  });
  const throwing = `export function transformEvent() { throw new Error(${JSON.stringify(markup)}) }`;
  const code = await call("POST /transformations", {
    body: { name: `T${markup}`, language: "javascript", code: throwing },
  });
  await call("POST /v2/connections", {
    body: { sourceId: source.id, destinationId: destination.id },
  });
  await call("POST /v2/members", { body: { name: `M${markup}`, email: "m@example.com" } });
  await call("POST /v2/tokens", { body: { name: `K${markup}`, permissions: ["events:read"] } });
  const query = new URLSearchParams({
    anonymousId: markup,
    name: markup,
    [`properties.${markup}`]: markup,
  });
  await api.page(source.id, query.toString());
  await until(async () => (await call("GET /v2/dead-letters")).paging.total > 0);
  const { deadLetters } = await call("GET /v2/dead-letters");
  return { source, destination, code, letter: deadLetters[0]! };
}

describeWith(chromiumMissing)("markup", () => {
  test("in names, events, reasons and addresses is shown as text and never runs", async () => {
    const { source, destination, code, letter } = await fill();
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);
    const places = [
      "#/",
      "#/sources",
      `#/sources/${source.id}`,
      "#/destinations",
      `#/destinations/${destination.id}`,
      `#/destinations/${destination.id}?tab=settings`,
      "#/dead-letters",
      "#/dead-letters?all=1",
      `#/dead-letters/${letter.id}`,
      "#/events",
      "#/replays",
      `#/replays/new?destinationId=${encodeURIComponent(markup)}`,
      `#/search?text=${encodeURIComponent(markup)}&sourceId=${encodeURIComponent(markup)}&from=${encodeURIComponent(markup)}`,
      "#/settings/members",
      "#/settings/tokens",
      "#/transformations",
      `#/transformations/${code.id}`,
      `#/${encodeURIComponent(markup)}`,
      `#/sources/${encodeURIComponent(markup)}`,
      `#/events?sourceId=${encodeURIComponent(markup)}&outcome=${encodeURIComponent(markup)}`,
      "#/sources/%E0%A4%A",
    ];
    for (const place of places) {
      await page.goto(`${api.url}/${place}`);
      await page.locator("h1").first().waitFor();
      await page.waitForLoadState("networkidle");
      const ran = await page.evaluate("window.broken ?? document.querySelectorAll('img').length");
      expect([place, ran]).toEqual([place, 0]);
    }

    await page.goto(`${api.url}/#/events`);
    // The event that the page sent is among the recent ones.
    await page.getByRole("button", { name: markup }).waitFor();
    await until(() => api.followers() > 0);
    const message = { messageId: markup, sourceId: source.id, at: Date.now() };
    api.tell(api.workspaceId, {
      ...message,
      stage: "received",
      event: { event: `Live ${markup}` },
    });
    api.tell(api.workspaceId, {
      ...message,
      stage: "dead-letter",
      destinationId: destination.id,
      reason: markup,
      event: { [markup]: markup },
    });
    await page.getByRole("button", { name: `Live ${markup}` }).click();
    await page.locator("dialog .bad").filter({ hasText: markup }).first().waitFor();
    await page.getByRole("button", { name: "Use as test event" }).click();
    // The page behind the dialog is inert: screen readers do not read messages there.
    await page.getByRole("dialog").getByText("Saved as a test event").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search screens" }).fill("onerror");
    await page.locator(".palette [role=option]").first().waitFor();
    expect(await page.evaluate("window.broken ?? document.querySelectorAll('img').length")).toBe(0);
    await close();
  }, 300_000);
});
