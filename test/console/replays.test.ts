import { afterAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

const taken: unknown[] = [];
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    taken.push(await request.json());
    return new Response(null);
  },
});
let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});
afterAll(() => receiver.stop(true));

describeWith(chromiumMissing)("replays", () => {
  test("start from a destination, show their progress and can be cancelled", async () => {
    const { source } = await api.client.call("POST /v2/sources", { body: { name: "Shop" } });
    const { destination } = await api.client.call("POST /v2/destinations", {
      body: { name: "Hook", type: "webhook", config: { webhookUrl: receiver.url.href } },
    });
    for (let n = 0; n < 30; n++) await api.page(source.id, `anonymousId=a&properties.n=${n}`);
    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);

    const begin = async (perSecond: string) => {
      await page.goto(`${api.url}/#/destinations/${destination.id}`);
      await page.getByRole("link", { name: "Replay events" }).click();
      await page.getByLabel("Source").selectOption({ label: "Shop" });
      await page.getByLabel("Received from").fill("2020-01-01T00:00");
      await page.getByLabel("Max events/s").fill(perSecond);
      await page.getByRole("button", { name: "Start replay" }).click();
    };
    await begin("1000");
    const row = page.getByRole("row").filter({ hasText: "of Shop" });
    await row.filter({ hasText: "done" }).waitFor();
    expect(taken).toHaveLength(30);
    expect(await row.textContent()).toContain("Events of Shop to Hook");

    await begin("1");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel replay" }).click();
    await row.filter({ hasText: "cancelled" }).waitFor();
    expect(taken.length).toBeLessThan(60);
    await close();
  });
});
