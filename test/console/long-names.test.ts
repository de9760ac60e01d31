import { expect, setDefaultTimeout } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing } from "../api/_chromium.ts";
import type { TestApi } from "../api/_setup.ts";
import { testWith } from "../counterpart.ts";
import { openPage, signIn, useConsole } from "./_browser.ts";

setDefaultTimeout(300_000);

let api: TestApi;
let browser: Browser;
useConsole((opened) => {
  ({ api, browser } = opened);
});

/** Longest allowed name, with a word that has no break opportunity. */
const name = `Name of a generator ${"WithoutAnySpace".repeat(20)}`.slice(0, 255);

/** Creates one item of each kind with that name. Returns the screens that show them. */
async function fill(): Promise<string[]> {
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
  await made("/v2/members", { name, email: `${"a".repeat(60)}@example.com` });
  await made("/v2/credentials", { name: "c".repeat(1_000), value: "v" });
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
  const screens = await fill();
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
