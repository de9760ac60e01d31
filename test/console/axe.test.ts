import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { isQuickTier } from "../tier.ts";
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
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ${JSON.stringify(rules)} })`,
  )) as { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

/**
 * WCAG 2.2 AA violations in light mode and layout on a narrow screen; in the long tier also contrast
 * in dark mode and the rules that concern a narrow screen.
 */
async function allViolationsOf(page: Page): Promise<string[]> {
  const found = await violationsOf(page, aa);
  if (!isQuickTier) {
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await violationsOf(page, ["color-contrast"]);
    found.push(...dark.map((violation) => `dark: ${violation}`));
    await page.emulateMedia({ colorScheme: "light" });
  }
  await page.setViewportSize({ width: 390, height: 844 });
  if (!isQuickTier) {
    const narrow = await violationsOf(page, ["region", "target-size", "landmark-unique"]);
    found.push(...narrow.map((violation) => `narrow: ${violation}`));
  }
  const excess = "document.documentElement.scrollWidth - innerWidth";
  // A chart is drawn again some frames after its window has become narrow.
  await page.waitForFunction(`${excess} <= 0`, undefined, { timeout: SETTLED_MS }).catch(() => {});
  const width = Number(await page.evaluate(excess));
  if (width > 0) found.push(`narrow: the page is ${width} px wider than the window`);
  await page.setViewportSize({ width: 1280, height: 860 });
  return found;
}

/** Time after which a page that is wider than the window stays so. */
const SETTLED_MS = 20_000;
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

describeWith(chromiumMissing)("every screen", () => {
  /** Layout shift beyond the bound and violations, by screen. */
  const shifted: Record<string, number> = {};
  const violations: Record<string, string[]> = {};

  beforeAll(async () => {
    const { page, close } = await openPage(browser);
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").waitFor();
    violations["sign in"] = await allViolationsOf(page);
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    for (const { name, hash, loaded } of screensOf(scene)) {
      // A fresh load: layout shift between two screens does not count.
      await page.goto("about:blank");
      await page.goto(`${scene.server.controlPlane}/${hash}`);
      await page.locator(loaded).first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      const sum = Number(await page.evaluate(shifts));
      if (sum > SHIFT_MAX) shifted[name] = sum;
      violations[name] = await allViolationsOf(page);
    }
    await close();
  }, 900_000);

  test("loads without layout shift", () => {
    expect(shifted).toEqual({});
  });

  test("has no violation that axe finds, in light and dark mode and at 390 px", () => {
    const wrong = Object.entries(violations).filter(([, found]) => found.length > 0);
    expect(Object.fromEntries(wrong)).toEqual({});
    expect(Object.keys(violations).length).toBe(screensOf(scene).length + 1);
  });
});
