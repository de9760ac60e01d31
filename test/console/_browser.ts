import { afterAll, beforeAll, expect } from "bun:test";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { startApi, type TestApi } from "../api/_setup.ts";
import { PAGE_PATIENCE_MS } from "../until.ts";

let built: Promise<boolean> | undefined;

/** Builds the console unless its sources are unchanged, which is looked at once in a process. */
export function buildConsole(): Promise<boolean> {
  built ??= ensureConsole();
  return built;
}

/** Opens an API with the console, and a browser for a file of tests. */
export function useConsole(use: (opened: { api: TestApi; browser: Browser }) => void): void {
  if (chromiumMissing !== undefined) return;
  let api: TestApi | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    await buildConsole();
    api = await startApi();
    browser = await sharedBrowser();
    use({ api, browser });
  }, 300_000);
  afterAll(async () => {
    await api?.stop();
  }, 300_000);
}

const defaults = {
  viewport: { width: 1280, height: 860 },
  // The skeletons of lists would be painted sixty times a second while a page waits.
  reducedMotion: "reduce",
} as const;

/**
 * Empty contexts by browser. One page of each stays open, so that its renderer runs on with the
 * console's code compiled: the next page takes 0.3 s of CPU time where one in a new context takes
 * 0.5 s.
 */
const emptyContexts = new WeakMap<Browser, BrowserContext[]>();

async function takeContext(browser: Browser): Promise<BrowserContext> {
  const empty = emptyContexts.get(browser)?.pop();
  if (empty !== undefined) return empty;
  const context = await browser.newContext(defaults);
  await context.newPage();
  return context;
}

/** Closes all pages of a page's context but the first, and removes their storage and cookies. */
async function emptyContext(browser: Browser, page: Page): Promise<void> {
  const context = page.context();
  // A page that has gone elsewhere may have no storage.
  await page.evaluate("localStorage.clear()").catch(() => {});
  const [, ...pages] = context.pages();
  for (const it of pages) await it.close();
  await context.clearCookies();
  emptyContexts.set(browser, [...(emptyContexts.get(browser) ?? []), context]);
}

/**
 * Opens a page of the console in a context without cookies and storage, and records its console
 * errors.
 */
export async function openPage(browser: Browser, options?: BrowserContextOptions) {
  const context = await (options === undefined
    ? takeContext(browser)
    : browser.newContext({ ...defaults, ...options }));
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_PATIENCE_MS);
  const consoleErrors: string[] = [];
  page.on("console", (it) => it.type() === "error" && consoleErrors.push(it.text()));
  page.on("pageerror", (error) => consoleErrors.push(String(error.stack ?? error.message)));
  return {
    page,
    consoleErrors,
    /** Closes the page and expects no console errors, except those of refused requests. */
    async close() {
      // A poll may be in flight at this moment.
      await page.unrouteAll({ behavior: "ignoreErrors" });
      if (options === undefined) await emptyContext(browser, page);
      else await context.close();
      expect(consoleErrors.filter((it) => !/^Failed to load resource/.test(it))).toEqual([]);
    },
  };
}

/** A screen that shows and loads nothing, for tests that go elsewhere: the overview draws charts. */
export const EMPTY_SCREEN = "#/nowhere";

/**
 * Gives the browser of a new page a session, and opens the console at `hash`. Spares each test the
 * sign-in form and the overview; `signInByForm` is for tests that are at the form.
 */
export async function signIn(page: Page, url: string, token: string, hash = "#/"): Promise<void> {
  const answer = await page.context().request.post(`${url}/v2/session`, { data: { token } });
  expect(answer.status()).toBe(201);
  await page.goto(`${url}/${hash}`);
  await page.locator(".frame").waitFor();
}

export async function signInByForm(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".frame").waitFor();
}

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

/** Rules of WCAG 2.2 AA and of good practice. */
const wcagRules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Violations that axe finds on a page by rules with these tags or names. */
export async function axeViolations(
  page: Page,
  rules: readonly string[] = wcagRules,
): Promise<string[]> {
  // The debugger evaluates it: the page's content security policy forbids the script.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ${JSON.stringify(rules)} })`,
  )) as { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}
