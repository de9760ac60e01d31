import { expect, setDefaultTimeout, test } from "bun:test";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { describeWith } from "../counterpart.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

let opened: Parameters<Parameters<typeof useConsole>[0]>[0];
useConsole((it) => {
  opened = it;
});

/** Takes the polls from the page, whose next one would hide a missing retry, and shortens the retries. */
function withoutPolls(): void {
  globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
  const { setTimeout } = globalThis;
  const sooner = (act: () => void, ms?: number) => setTimeout(act, ms === 3_000 ? 300 : ms);
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
});
