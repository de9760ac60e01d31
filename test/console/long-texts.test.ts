import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { firstMissing, testWith } from "../counterpart.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { runSeed } from "../seed.ts";
import { longTierMissing, sample } from "../tier.ts";
import { wideElementsOf } from "./_axe.ts";
import { buildConsole, openPage, signIn } from "./_browser.ts";
import { type Scene, screensOf, startScene } from "./_scene.ts";

setDefaultTimeout(300_000);

/** Text without a break opportunity. */
const word = "WithoutAnySpace".repeat(20);

let scene: Scene;
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await buildConsole();
  [scene, browser] = await Promise.all([startScene(word), sharedBrowser()]);
}, 300_000);
afterAll(async () => {
  await scene?.stop();
}, 300_000);

/** Longest allowed name. */
const name = `Name of a generator ${word}`.slice(0, 255);

/** Name that reverses all text after it in its line, unless it is isolated. */
const reversing = "\u202eחנות Shop";

/** Creates one item of each kind with a name. Returns the screens that show them. */
async function fill(name: string, credential: string): Promise<string[]> {
  const made = async (path: string, body: object) =>
    (await scene.server.api("POST", path, body)).body;
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

/** Opens a screen, and waits until nothing of it is loading. */
async function open(page: Page, screen: string): Promise<void> {
  await page.goto(`${scene.server.controlPlane}/#/${screen}`);
  await page.locator("h1").first().waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
}

testWith(chromiumMissing)("long texts widen no screen, wide or narrow", async () => {
  const screens = await fill(name, "c".repeat(1_000));
  const { page, close } = await openPage(browser);
  await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
  const found: Record<string, unknown> = {};
  const widths = [1_280, 390];
  const all = new Set([...screensOf(scene).map(({ hash }) => hash.slice(2)), ...screens]);
  // Which half of them the quick tier opens depends on the commit.
  for (const screen of sample([...all], runSeed, 2)) {
    await open(page, screen);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 860 });
      const wide = await wideElementsOf(page);
      if (wide.length > 0) found[`${width} ${screen}`] = wide;
    }
    // The next screen opens at the width that this one has now.
    widths.reverse();
  }
  expect(found).toEqual({});
  await close();
});

/** Prevents a page's charts from seeing that their width changes. */
const frozenCharts = `window.ResizeObserver = class extends ResizeObserver {
  observe(element) {
    if (!element.matches(".chart")) super.observe(element);
  }
}`;

testWith(chromiumMissing)("a chart that is still as wide as before widens no screen", async () => {
  const { page, close } = await openPage(browser);
  await page.addInitScript(frozenCharts);
  await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
  for (const screen of ["", `sources/${scene.ids.source}`, `destinations/${scene.ids.broken}`]) {
    await open(page, screen);
    await page.locator(".chart canvas").first().waitFor();
    await page.setViewportSize({ width: 390, height: 860 });
    expect(await wideElementsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 1_280, height: 860 });
  }
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

const rightToLeft = testWith(firstMissing(longTierMissing, chromiumMissing));

rightToLeft("a name that runs right to left reverses no text beside it", async () => {
  const screens = await fill(reversing, "REVERSING");
  const { page, close } = await openPage(browser);
  await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
  const found: Record<string, unknown> = {};
  const look = async (state: string) => {
    const texts = (await page.evaluate(notIsolated)) as string[];
    if (texts.length > 0) found[state] = texts;
  };
  for (const screen of screens) {
    await open(page, screen);
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
