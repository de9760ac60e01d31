import type { Page } from "playwright-core";
import { isQuickTier } from "../tier.ts";
import { axeViolations } from "./_browser.ts";

/**
 * WCAG 2.2 AA violations in light mode and layout on a narrow screen; in the long tier also
 * contrast in dark mode and the rules that concern a narrow screen.
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
  found.push(...(await wideElementsOf(page)).map((it) => `narrow: ${it}`));
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

/**
 * Finds what makes the page, or a table cell or panel of it, wider than its place: each with a
 * selector and its text. Empty for a page that fits.
 */
export async function wideElementsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(wideElements)) as string[];
}

const wideElements = `(() => {
  const nameOf = (it) => {
    const path = [];
    for (let at = it; at && at !== document.body && path.length < 4; at = at.parentElement) {
      path.unshift([at.localName, ...at.classList].join("."));
    }
    return path.join(" > ") + ' "' + it.textContent.trim().slice(0, 60) + '"';
  };
  const isCut = (it, place) => {
    for (let at = it.parentElement; at !== null && at !== place; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "visible") return true;
    }
    return false;
  };
  // The cause is the innermost of the elements that reach farthest.
  const causeIn = (place) => {
    let [cause, farthest] = [place, 0];
    for (const it of place.querySelectorAll("*")) {
      const { right } = it.getBoundingClientRect();
      if (right >= farthest && !isCut(it, place)) [cause, farthest] = [it, right];
    }
    return nameOf(cause);
  };
  const found = new Set();
  const excess = document.documentElement.scrollWidth - innerWidth;
  if (excess > 0) {
    found.add("the page is " + excess + " px wider than the window: " + causeIn(document.body));
  }
  for (const it of document.querySelectorAll("td, th, .panel, dialog[open]")) {
    const excess = it.scrollWidth - it.clientWidth;
    if (excess > 1) found.add(it.localName + " is " + excess + " px too narrow: " + causeIn(it));
  }
  return [...found];
})()`;
