import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { runSeed } from "../seed.ts";
import { isQuickTier, sample } from "../tier.ts";
import { allViolationsOf } from "./_axe.ts";
import { buildConsole, openPage, signInByForm } from "./_browser.ts";
import { type Scene, screensOf, startScene } from "./_scene.ts";
import { statesOf, visit } from "./_states.ts";

let scene: Scene;
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await buildConsole();
  [scene, browser] = await Promise.all([startScene(), sharedBrowser()]);
}, 300_000);
afterAll(async () => {
  await scene?.stop();
}, 300_000);

/** States that the quick tier checks; `axe-states.long.test.ts` checks all of them. */
const quickStates = new Set(["result with an error", "an event of the tail"]);
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
  /** The quick tier looks at half of the screens, which ones depends on the commit. */
  const screens = () => sample(screensOf(scene), runSeed, 2);

  beforeAll(async () => {
    const { page, close } = await openPage(browser);
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").waitFor();
    violations["sign in"] = await allViolationsOf(page);
    await signInByForm(page, scene.server.controlPlane, ADMIN_TOKEN);
    for (const { name, hash, loaded } of screens()) {
      // A fresh load: layout shift between two screens does not count. It takes most of the time.
      if (!isQuickTier) await page.goto("about:blank");
      await page.goto(`${scene.server.controlPlane}/${hash}`);
      // The screen before may have what is waited for: it goes with the next frame.
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
      await page.locator(loaded).first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      const sum = isQuickTier ? 0 : Number(await page.evaluate(shifts));
      if (sum > SHIFT_MAX) shifted[name] = sum;
      violations[name] = await allViolationsOf(page);
    }
    for (const state of statesOf(scene).filter(([name]) => isQuickTier && quickStates.has(name))) {
      violations[state[0]] = await visit(page, scene.server.controlPlane, state);
    }
    await close();
  }, 900_000);

  if (!isQuickTier) {
    test("loads without layout shift", () => {
      expect(shifted).toEqual({});
    });
  }

  test("has no violation that axe finds, in light and dark mode and at 390 px", () => {
    const wrong = Object.entries(violations).filter(([, found]) => found.length > 0);
    expect(Object.fromEntries(wrong)).toEqual({});
    const states = isQuickTier ? quickStates.size : 0;
    expect(Object.keys(violations).length).toBe(screens().length + 1 + states);
  });
});
