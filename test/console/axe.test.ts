import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith, testWith } from "../counterpart.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { openPage, signIn } from "./_browser.ts";
import { placesOf, type Scene, startScene } from "./_scene.ts";

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

/** What axe finds wrong with the page, by the rules of these tags or names. */
async function faultsOf(page: Page, rules: string[]): Promise<string[]> {
  // The debugger's way in: the page's own policy lets no such script run.
  await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ${JSON.stringify(rules)} })`,
  )) as { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

/** By the rules of WCAG 2.2 AA in the light; in the dark its colours, and narrow its places. */
async function allFaultsOf(page: Page): Promise<string[]> {
  const found = await faultsOf(page, aa);
  await page.emulateMedia({ colorScheme: "dark" });
  found.push(...(await faultsOf(page, ["color-contrast"])).map((fault) => `dark: ${fault}`));
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 844 });
  const narrow = await faultsOf(page, ["region", "target-size", "landmark-unique"]);
  found.push(...narrow.map((fault) => `narrow: ${fault}`));
  const width = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  if (width > 0) found.push(`narrow: the page is ${width} px wider than the window`);
  await page.setViewportSize({ width: 1280, height: 860 });
  return found;
}

/** Share of the window times share of the way, summed; beyond it people notice. */
const SHIFT_MAX = 0.1;
/** All that was seen to move since the page was loaded. */
const shifts = `new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) sum += value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 200);
})`;

testWith(chromiumMissing)(
  "nothing jumps while a screen loads",
  async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    const jumped: Record<string, number> = {};
    for (const { name, hash, seen } of placesOf(scene)) {
      // A load of its own: what moves when one screen gives way to another is no fault.
      await page.goto("about:blank");
      await page.goto(`${scene.server.controlPlane}/${hash}`);
      await page.locator(seen).first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      const sum = Number(await page.evaluate(shifts));
      if (sum > SHIFT_MAX) jumped[name] = sum;
    }
    await close();
    expect(jumped).toEqual({});
  },
  900_000,
);

describeWith(chromiumMissing)("axe finds nothing", () => {
  test("on any screen, light, dark or narrow", async () => {
    const { page, close } = await openPage(browser);
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").waitFor();
    const found: Record<string, string[]> = { "sign in": await allFaultsOf(page) };
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    for (const { name, hash, seen } of placesOf(scene)) {
      await page.goto(`${scene.server.controlPlane}/${hash}`);
      await page.locator(seen).first().waitFor();
      await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
      found[name] = await allFaultsOf(page);
    }
    await close();
    const wrong = Object.entries(found).filter(([, faults]) => faults.length > 0);
    expect(Object.fromEntries(wrong)).toEqual({});
  }, 900_000);
});
