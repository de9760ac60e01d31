import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith, testWith } from "../counterpart.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { openPage, signIn } from "./_browser.ts";
import { type Scene, screensOf, startScene } from "./_scene.ts";

let scene: Scene;
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await ensureConsole();
  [scene, browser] = await Promise.all([startScene(), sharedBrowser()]);
}, 300_000);
afterAll(async () => {
  await scene?.stop();
}, 300_000);

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

const aa = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Violations that axe finds by rules with these tags or names. */
async function violationsOf(page: Page, rules: string[]): Promise<string[]> {
  // The debugger evaluates it: the page's content security policy forbids the script.
  await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ${JSON.stringify(rules)} })`,
  )) as { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

/** WCAG 2.2 AA violations in light mode, contrast in dark mode, and layout on a narrow screen. */
async function allViolationsOf(page: Page): Promise<string[]> {
  const found = await violationsOf(page, aa);
  await page.emulateMedia({ colorScheme: "dark" });
  found.push(
    ...(await violationsOf(page, ["color-contrast"])).map((violation) => `dark: ${violation}`),
  );
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 844 });
  const narrow = await violationsOf(page, ["region", "target-size", "landmark-unique"]);
  found.push(...narrow.map((violation) => `narrow: ${violation}`));
  const width = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  if (width > 0) found.push(`narrow: the page is ${width} px wider than the window`);
  await page.setViewportSize({ width: 1280, height: 860 });
  return found;
}

/** Cumulative layout shift up to which Web Vitals rate a page as good. */
const SHIFT_MAX = 0.1;
/** Cumulative layout shift since the page was loaded. */
const shifts = `new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) sum += value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 200);
})`;

testWith(chromiumMissing)(
  "screens load without layout shift",
  async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    const shifted: Record<string, number> = {};
    for (const { name, hash, loaded } of screensOf(scene)) {
      // A fresh load: layout shift between two screens does not count.
      await page.goto("about:blank");
      await page.goto(`${scene.server.controlPlane}/${hash}`);
      await page.locator(loaded).first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      const sum = Number(await page.evaluate(shifts));
      if (sum > SHIFT_MAX) shifted[name] = sum;
    }
    await close();
    expect(shifted).toEqual({});
  },
  900_000,
);

describeWith(chromiumMissing)("accessibility", () => {
  test("axe finds no violation on any screen, in light and dark mode and at 390 px", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").waitFor();
    const found: Record<string, string[]> = { "sign in": await allViolationsOf(page) };
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    for (const { name, hash, loaded } of screensOf(scene)) {
      await page.goto(`${scene.server.controlPlane}/${hash}`);
      await page.locator(loaded).first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      found[name] = await allViolationsOf(page);
    }
    await close();
    const wrong = Object.entries(found).filter(([, violations]) => violations.length > 0);
    expect(Object.fromEntries(wrong)).toEqual({});
  }, 900_000);
});
