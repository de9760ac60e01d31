import { expect, setDefaultTimeout, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { testWith } from "../counterpart.ts";
import { isQuickTier } from "../tier.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

/** Longest allowed name, with a word that has no break opportunity. */
const name = `Name of a generator ${"WithoutAnySpace".repeat(20)}`.slice(0, 255);

/** Name that reverses all text after it in its line, unless it is isolated. */
const reversing = "\u202eחנות Shop";

/** Creates one item of each kind with a name. Returns the screens that show them. */
async function fill(name: string, credential: string): Promise<string[]> {
  const made = async (path: string, body: object) => (await api.send("POST", path, { body })).body;
  const { source } = await made("/v2/sources", { name, type: "http" });
  const file = { type: "file", config: { path: "a.jsonl" } };
  const { destination } = await made("/v2/destinations", { name, ...file });
  await made("/v2/connections", { sourceId: source.id, destinationId: destination.id });
  const code = "export function transformEvent(event) { return event; }";
  const draft = { name, language: "javascript", description: name };
  const transformation = await made("/transformations?publish=true", {
    ...draft,
    code,
    destinationIds: [destination.id],
  });
  const library = await made("/libraries", { ...draft, code: "export const a = 1;" });
  await made("/v2/tokens", { name, permissions: [] });
  await made("/v2/members", { name, email: `${credential.slice(0, 60)}@example.com` });
  await made("/v2/credentials", { name: credential, value: "v" });
  return [
    ...["", "sources", "destinations", "transformations", "libraries", "events", "search"],
    ...["dead-letters", "replays/new", "settings/tokens", "settings/members"],
    ...["settings/credentials", `sources/${source.id}`, `destinations/${destination.id}`],
    `destinations/${destination.id}?tab=settings`,
    ...["", "?tab=history", "?tab=destinations"].map(
      (tab) => `transformations/${transformation.id}${tab}`,
    ),
    `libraries/${library.id}`,
  ];
}

/** Elements with overflow: the page itself, or cells whose text runs into the next one. */
const tooWide = `[document.documentElement, ...document.querySelectorAll("td, th, .panel")]
  .filter((it) => it.scrollWidth > it.clientWidth + 1)
  .map((it) => it.localName + " " + it.className + " " + it.textContent.slice(0, 40))`;

testWith(chromiumMissing)("long names overflow no screen, wide or narrow", async () => {
  const screens = await fill(name, "c".repeat(1_000));
  const { page, close } = await openPage(browser);
  await signIn(page, api.url, api.token);
  const found: Record<string, unknown> = {};
  for (const width of [1_280, 400]) {
    await page.setViewportSize({ width, height: 860 });
    for (const screen of screens) {
      await page.goto(`${api.url}/#/${screen}`);
      await page.locator("h1").first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      const wide = (await page.evaluate(tooWide)) as string[];
      if (wide.length > 0) found[`${width} ${screen}`] = wide;
    }
  }
  expect(found).toEqual({});
  await close();
});

/**
 * Texts in which a name stands beside other text without being isolated from it. Each block is a
 * paragraph of its own.
 */
const notIsolated = `(() => {
  const isIsolated = (it) => {
    const { display, unicodeBidi } = getComputedStyle(it);
    return display !== "inline" || /isolate|plaintext/.test(unicodeBidi);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.includes("\u202e")) continue;
    let element = node.parentElement;
    while (!isIsolated(element)) element = element.parentElement;
    const text = element.textContent.trim().replaceAll(/\u2068[^\u2069]*\u2069/g, "");
    if (/\u202e/.test(text) && !text.startsWith("\u202e")) found.push(text);
    if (text.startsWith("\u202e") && text !== ${JSON.stringify(reversing)}) found.push(text);
  }
  return found;
})()`;

const rightToLeft = test.skipIf(isQuickTier || chromiumMissing !== undefined);

rightToLeft("a name that runs right to left reverses no text beside it", async () => {
  const screens = await fill(reversing, "REVERSING");
  const { page, close } = await openPage(browser);
  await signIn(page, api.url, api.token);
  const found: Record<string, unknown> = {};
  const look = async (state: string) => {
    const texts = (await page.evaluate(notIsolated)) as string[];
    if (texts.length > 0) found[state] = texts;
  };
  for (const screen of screens) {
    await page.goto(`${api.url}/#/${screen}`);
    await page.locator("h1").first().waitFor();
    await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    await look(screen);
    const remove = page.locator("main").getByRole("button", { name: /^(Delete|Remove|Revoke)/ });
    if ((await remove.count()) === 0) continue;
    await remove.first().click();
    await page.getByRole("dialog").waitFor();
    await look(`${screen}, dialog`);
    await page.keyboard.press("Escape");
  }
  expect(found).toEqual({});
  await close();
});
