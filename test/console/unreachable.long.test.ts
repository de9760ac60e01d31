import { expect, setDefaultTimeout, test } from "bun:test";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { soon } from "../until.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

let opened: Parameters<Parameters<typeof useConsole>[0]>[0];
useConsole((it) => {
  opened = it;
});

/**
 * Takes the polls from the page, whose next one would hide a missing retry, and shortens the
 * retries and the time in which an answer must come.
 */
function withoutPolls(): void {
  globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
  const { setTimeout } = globalThis;
  const shorter: Record<number, number> = { 3000: 300, 20000: 500 };
  const sooner = (act: () => void, ms = 0) => setTimeout(act, shorter[ms] ?? ms);
  globalThis.setTimeout = sooner as unknown as typeof setTimeout;
}

/** Screens that ask the server for something when they open. */
async function placesOf(api: TestApi): Promise<string[]> {
  const made = async (path: string, body: object) => (await api.send("POST", path, { body })).body;
  const { source } = await made("/v2/sources", { name: "Shop" });
  const config = { webhookUrl: "http://127.0.0.1:9/" };
  const { destination } = await made("/v2/destinations", { name: "H", type: "webhook", config });
  const code = "export const transformEvent = (event) => event;";
  const { id } = await made("/transformations", { name: "T", language: "javascript", code });
  return [
    "sources",
    `sources/${source.id}`,
    "destinations",
    `destinations/${destination.id}`,
    `destinations/${destination.id}?tab=settings`,
    "destinations/new",
    "transformations",
    `transformations/${id}`,
    `transformations/${id}?tab=history`,
    "events",
    "search?event=x",
    "dead-letters",
    "dead-letters?all=1",
    "replays",
    "alerts",
    "audit",
    "settings",
    "system",
  ];
}

describeWith(chromiumMissing)("a screen that was opened while the server is away", () => {
  test("loads by itself when the server is back, without waiting for its poll", async () => {
    const { api, browser } = opened;
    const { page, close } = await openPage(browser);
    await page.addInitScript(withoutPolls);
    await signIn(page, api.url, api.token);
    const notice = page.getByText("Can't reach the server").first();
    for (const place of await placesOf(api)) {
      await page.route("**/v2/**", (request) => request.abort("connectionrefused"));
      // Nothing is kept of the screen before.
      await page.goto(`${api.url}/#/nowhere`);
      await page.getByText("Page not found").first().waitFor();
      await page.goto(`${api.url}/#/${place}`);
      await notice.waitFor();
      await page.unrouteAll({ behavior: "wait" });
      const isBack = notice.waitFor({ state: "detached", timeout: 60_000 });
      expect({
        place,
        isBack: await isBack.then(
          () => true,
          () => false,
        ),
      }).toEqual({ place, isBack: true });
    }
    await close();
  });

  test("says so when an answer does not come, and loads by itself", async () => {
    const { api, browser } = opened;
    const { page, close } = await openPage(browser);
    await page.addInitScript(withoutPolls);
    await signIn(page, api.url, api.token);
    // No server answers, and the connections stay open.
    await page.route("**/v2/dead-letter-groups**", () => {});
    await page.goto(`${api.url}/#/dead-letters`);
    const notice = page.getByText("Can't reach the server").first();
    await notice.waitFor();
    await page.unrouteAll();
    await page.getByText("No dead letters").first().waitFor();
    await notice.waitFor({ state: "detached" });
    await close();
  });
});

describeWith(chromiumMissing)("the list of real events for a test", () => {
  test("follows the live tail again after it has ended", async () => {
    const { api, browser } = opened;
    const { page, close } = await openPage(browser);
    await page.addInitScript(withoutPolls);
    await signIn(page, api.url, api.token);
    const code = "export const transformEvent = (event) => event;";
    const draft = { name: "Followed", language: "javascript", code };
    const { id } = (await api.send("POST", "/transformations", { body: draft })).body;
    await page.goto(`${api.url}/#/transformations/${id}`);
    await page.route("**/v2/events", (request) => request.fulfill({ body: ": connected\n\n" }));
    await page.getByRole("button", { name: "Use real events" }).click();
    const notice = page.getByRole("dialog").getByText("Can't reach the server");
    await notice.waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await notice.waitFor({ state: "detached" });
    while (api.followers() === 0) await Bun.sleep(20);
    await soon(async () => expect(await notice.count()).toBe(0));
    await close();
  });
});

describeWith(chromiumMissing)("a screen whose load the server refuses with Retry-After", () => {
  test("waits for so long, without its polls, and loads again", async () => {
    const { api, browser } = opened;
    const { page, close } = await openPage(browser);
    await page.addInitScript(() => {
      const { setTimeout, setInterval } = globalThis;
      const often = (act: () => void) => setInterval(act, 20);
      globalThis.setInterval = often as unknown as typeof setInterval;
      // The waits that the server asks for, and how to end the latest one.
      const waits: number[] = [];
      const wait = (act: () => void, ms = 0) => {
        if (ms !== 7_000 && ms !== 60_000) return setTimeout(act, ms);
        waits.push(ms);
        Object.assign(globalThis, { waits, endWait: act });
      };
      globalThis.setTimeout = wait as unknown as typeof setTimeout;
    });
    await signIn(page, api.url, api.token);
    let requests = 0;
    await page.route("**/v2/dead-letter-groups**", async (request) => {
      requests++;
      const headers = { "Retry-After": requests === 1 ? "7" : "86400" };
      await request.fulfill({ status: 429, headers, json: { message: "Too many" } });
    });
    await page.goto(`${api.url}/#/dead-letters`);
    await page.getByText("Too many (wait 7 s)").waitFor();
    // Polls of 20 ms would have asked again by then.
    await page.evaluate("new Promise((done) => setTimeout(done, 1_000))");
    expect(requests).toBe(1);
    await page.evaluate("endWait()");
    await page.getByText("Too many (wait 86400 s)").waitFor();
    await page.waitForFunction(() => (globalThis as unknown as { waits: [] }).waits.length > 1);
    expect(await page.evaluate("waits")).toEqual([7_000, 60_000]);
    await page.unrouteAll({ behavior: "wait" });
    await page.evaluate("endWait()");
    await page.getByText("No dead letters").first().waitFor();
    await close();
  });
});

/** A context of its own, in which no part of the console was loaded before. */
const ownContext = {};

describeWith(chromiumMissing)("a page that stays open while the server is upgraded", () => {
  test("says that a part could not be loaded, which the next load of the page has", async () => {
    const { api, browser } = opened;
    const { page, close } = await openPage(browser, ownContext);
    await signIn(page, api.url, api.token);
    await page.route("**/console/*.js", (request) => request.fulfill({ status: 404 }));
    await page.goto(`${api.url}/#/replays`);
    const notice = page.getByText("This part of the console could not be loaded.").first();
    await notice.waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("button", { name: "Try again" }).click();
    await notice.waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Replays", exact: true }).waitFor();
    await close();
  });

  test("says so in the place of a chart", async () => {
    const { api, browser } = opened;
    const { page, close } = await openPage(browser, ownContext);
    const { body } = await api.send("POST", "/v2/sources", { body: { name: "Charted" } });
    // The overview, which the console opens by itself, would load the charts.
    await signIn(page, api.url, api.token, "#/sources");
    await page.getByText("Charted").first().waitFor();
    await page.route("**/console/*.js", (request) => request.fulfill({ status: 404 }));
    await page.goto(`${api.url}/#/sources/${body.source.id}?tab=metrics`);
    await page.getByText("This part of the console could not be loaded.").first().waitFor();
    await close();
  });
});
