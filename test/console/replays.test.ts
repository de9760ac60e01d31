import { afterAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

const taken: unknown[] = [];
/** Status of the receiver's answers, by the event's property `n`. */
let statusOf = (_n: string) => 200;
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const event = (await request.json()) as { properties: { n: unknown } };
    taken.push(event);
    return new Response(null, { status: statusOf(String(event.properties.n)) });
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
      // The list of replays, which may still be shown, has such a link too.
      await page.getByRole("heading", { name: "Hook" }).waitFor();
      await page.getByRole("link", { name: "Replay events" }).click();
      await page.getByLabel("Source").selectOption({ label: "Shop" });
      await page.getByLabel("Received from", { exact: true }).fill("2020-01-01");
      await page.getByLabel("Max events/s").fill(perSecond);
      await page.getByRole("button", { name: "Start replay" }).click();
      await page.waitForURL(`${api.url}/#/replays`);
    };
    await begin("1000");
    const row = page.getByRole("row").filter({ hasText: "of Shop" });
    await row.filter({ hasText: "done" }).waitFor();
    expect(taken).toHaveLength(30);
    await soon(async () => expect(await row.textContent()).toContain("Events of Shop to Hook"));

    await begin("1");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel replay" }).click();
    await row.filter({ hasText: "cancelled" }).waitFor();
    expect(taken.length).toBeLessThan(60);
    await close();
  });

  test("show who began them, what became of the events, and why they failed again", async () => {
    const { call } = api.client;
    const { source } = await call("POST /v2/sources", { body: { name: "App" } });
    const { destination } = await call("POST /v2/destinations", {
      body: { name: "Refusing", type: "webhook", config: { webhookUrl: receiver.url.href } },
    });
    const body = { sourceId: source.id, destinationId: destination.id };
    await call("POST /v2/connections", { body });
    statusOf = () => 422;
    for (let n = 0; n < 4; n++) await api.page(source.id, `anonymousId=a&properties.n=${n}`);
    const query = { destinationId: destination.id };
    const groups = () => call("GET /v2/dead-letter-groups", { query });
    while ((await groups()).letters < 4) await Bun.sleep(20);

    const { page, close } = await openPage(browser);
    await signIn(page, api.url, api.token);
    const row = page.locator("tbody tr").filter({ hasText: "Refusing" }).first();
    const replay = async (state: RegExp, filterOf: (id: string) => object) => {
      await page.goto(`${api.url}/#/`);
      const [group] = (await groups()).deadLetterGroups;
      const filter = filterOf(group!.id);
      await call("POST /v2/dead-letters/replay", { body: { filter, all: true } });
      await page.goto(`${api.url}/#/replays`);
      await row.locator(".badge").filter({ hasText: state }).waitFor();
      const cells = await row.locator("td").allTextContents();
      const [delivered, dropped, failed, pending] = cells.slice(4);
      return { scope: cells[1], counts: { delivered, dropped, failed, pending } };
    };

    statusOf = () => 403;
    const failed = await replay(/^failed$/, (groupId) => ({ groupId }));
    expect(failed.counts).toEqual({ delivered: "0", dropped: "0", failed: "4", pending: "0" });
    expect(failed.scope).toContain("Dead letters of Refusing");
    expect(failed.scope).toContain("Failed before: HTTP 422 from receiver");
    expect(failed.scope).toContain("Started by test");
    expect(failed.scope).toContain("4 × HTTP 403 from receiver");
    const [group] = (await groups()).deadLetterGroups;
    const link = row.getByRole("link", { name: "HTTP 403 from receiver" });
    await soon(async () => expect(await link.getAttribute("href")).toContain(group!.id));

    statusOf = (n) => (n === "0" ? 403 : 200);
    const partly = await replay(/^partly failed$/, (id) => ({ groupIds: [id] }));
    expect(partly.counts).toEqual({ delivered: "3", dropped: "0", failed: "1", pending: "0" });
    expect(partly.scope).toContain("Dead letters of Refusing");
    expect(partly.scope).toContain("1 × HTTP 403 from receiver");

    statusOf = () => 200;
    const done = await replay(/^done$/, (groupId) => ({ groupId }));
    expect(done.counts).toEqual({ delivered: "1", dropped: "0", failed: "0", pending: "0" });
    await close();
  }, 300_000);
});
