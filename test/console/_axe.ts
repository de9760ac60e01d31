import type { Page } from "playwright-core";
import { isQuickTier } from "../tier.ts";
import { axeViolations } from "./_browser.ts";

/**
 * WCAG 2.2 AA violations in light mode and layout on a narrow screen; in the long tier also contrast
 * in dark mode and the rules that concern a narrow screen.
 */
export async function allViolationsOf(page: Page): Promise<string[]> {
  const found = await axeViolations(page);
  if (!isQuickTier) {
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await axeViolations(page, ["color-contrast"]);
    found.push(...dark.map((violation) => `dark: ${violation}`));
    await page.emulateMedia({ colorScheme: "light" });
  }
  await page.setViewportSize({ width: 390, height: 844 });
  if (!isQuickTier) {
    const narrow = await axeViolations(page, ["region", "target-size", "landmark-unique"]);
    found.push(...narrow.map((violation) => `narrow: ${violation}`));
  }
  const excess = "document.documentElement.scrollWidth - innerWidth";
  // A chart is drawn again some frames after its window has become narrow.
  const fits = `() => ${excess} <= 0`;
  await page.waitForFunction(fits, undefined, { timeout: SETTLED_MS }).catch(() => {});
  const width = Number(await page.evaluate(excess));
  if (width > 0) found.push(`narrow: the page is ${width} px wider than the window`);
  const sideways = (await page.evaluate(sidewaysScrollers)) as string[];
  found.push(...sideways.map((it) => `narrow: scrolls sideways: ${it}`));
  await page.setViewportSize({ width: 1280, height: 860 });
  return found;
}

/** Elements other than code whose content is wider than they are, so that one has to scroll. */
const sidewaysScrollers = `[...document.querySelectorAll("main *, dialog[open] *")]
  .filter((it) => it.scrollWidth > it.clientWidth + 1)
  .filter((it) => /auto|scroll/.test(getComputedStyle(it).overflowX))
  .filter((it) => it.closest(".code, .cm-editor") === null)
  .map((it) => it.outerHTML.slice(0, 100))`;

/** Time after which a page that is wider than the window stays so. */
const SETTLED_MS = 20_000;
