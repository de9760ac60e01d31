import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { chromiumMissing, sharedBrowser } from "../api/_chromium.ts";
import { describeWith } from "../counterpart.ts";
import { ADMIN_TOKEN, removeDirectory, type Server, startServer } from "../e2e/server.ts";
import { allViolationsOf } from "./_axe.ts";
import { openPage, signIn, signInByForm } from "./_browser.ts";
import { type Scene, startScene } from "./_scene.ts";
import { type State, statesOf, visit, withFailedReplays } from "./_states.ts";

setDefaultTimeout(1_800_000);

let scene: Scene;
/** Server without sources, destinations and code. */
let empty: Server;
let browser: Browser;
beforeAll(async () => {
  if (chromiumMissing !== undefined) return;
  await ensureConsole();
  [scene, empty, browser] = await Promise.all([startScene(), startServer(), sharedBrowser()]);
}, 300_000);
afterAll(async () => {
  await scene?.stop();
  await empty?.stop();
  if (empty) removeDirectory(empty.directory);
}, 300_000);

/** Time after which a state counts as not reached: the other states are still checked. */
const STATE_MS = 60_000;

/** Closes the dialog of a state. Returns whether no element has the focus afterwards. */
async function losesFocus(page: Page): Promise<boolean> {
  const open = page.locator("dialog[open]");
  if ((await open.count()) === 0) return false;
  await page.keyboard.press("Escape");
  await open.waitFor({ state: "detached" });
  // A screen that is opened instead takes the focus after it is rendered.
  await page.waitForTimeout(0);
  return await page.evaluate("document.activeElement === document.body");
}

/** Violations by state. */
async function violationsOfStates(page: Page, url: string, states: State[]) {
  const found: Record<string, string[]> = {};
  for (const state of states) {
    const violations = await visit(page, url, state).catch((error) => [String(error)]);
    if (await losesFocus(page)) violations.push("a closed dialog gives the focus to nothing");
    if (violations.length > 0) found[state[0]] = violations;
    await page.evaluate("localStorage.clear()").catch(() => {});
  }
  return found;
}

describeWith(chromiumMissing)("axe finds no violation", () => {
  test("in dialogs, errors, conflicts and results", async () => {
    const { page, close } = await openPage(browser);
    page.setDefaultTimeout(STATE_MS);
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    await scene.server.api("POST", "/v2/dead-letters/replay", {
      filter: { destinationId: scene.ids.broken },
      all: true,
    });
    await withFailedReplays(page);
    expect(await violationsOfStates(page, scene.server.controlPlane, statesOf(scene))).toEqual({});
    await close();
  });

  test("on screens without items", async () => {
    const { page, close } = await openPage(browser);
    await signIn(page, empty.controlPlane, ADMIN_TOKEN);
    const screens = ["", "sources", "destinations", "transformations", "libraries", "events"];
    const more = ["dead-letters", "replays", "search", "alerts", "alerts/rules", "audit"];
    const states = [...screens, ...more].map((hash): State => [hash, hash, async () => {}]);
    expect(await violationsOfStates(page, empty.controlPlane, states)).toEqual({});
    await close();
  });

  test("on screens that load, and on screens whose request failed", async () => {
    const { page } = await openPage(browser);
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    const screens = ["", "sources", "destinations", "transformations", "dead-letters", "audit"];
    const more = [`destinations/${scene.ids.healthy}`, `transformations/${scene.ids.library}`];
    const found: Record<string, string[]> = {};
    for (const answer of ["pending", "failed"] as const) {
      for (const hash of [...screens, ...more, "replays", "alerts", "settings/tokens"]) {
        await page.goto("about:blank");
        await page.goto(`${scene.server.controlPlane}/#/nowhere`);
        await page.getByText("Page not found").first().waitFor();
        await page.route(/\/(v2|transformations|libraries)\b/, (route) =>
          answer === "failed" ? route.fulfill({ status: 500, json: { message: "Broken" } }) : null,
        );
        await page.evaluate(`location.hash = "#/${hash}"`);
        const state = answer === "failed" ? ".error" : "[aria-busy=true], .skeleton-line";
        const waited = page.locator(state).first().waitFor({ timeout: STATE_MS });
        const violations = await waited.then(
          () => allViolationsOf(page),
          (error) => [String(error)],
        );
        if (violations.length > 0) found[`${hash} ${answer}`] = violations;
        await page.unrouteAll({ behavior: "ignoreErrors" });
      }
    }
    expect(found).toEqual({});
    await page.context().close();
  });

  test("on the sign-in screen after a refused token, and after the end of a session", async () => {
    const { page, close } = await openPage(browser);
    const found: Record<string, string[]> = {};
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator(".error").waitFor();
    found.refused = await allViolationsOf(page);
    const made = { name: "Short", permissions: ["events:read"] };
    const { token } = (await scene.server.api("POST", "/v2/tokens", made)).body;
    await signInByForm(page, scene.server.controlPlane, token.secret);
    await page.goto(
      `${scene.server.controlPlane}/#/destinations/${scene.ids.healthy}?tab=settings`,
    );
    await page.getByText("Requires workspace:admin").first().waitFor();
    found.forbidden = await allViolationsOf(page);
    await scene.server.api("DELETE", `/v2/tokens/${token.id}`);
    await page.goto(`${scene.server.controlPlane}/#/sources`);
    await page.getByText("Your session has ended").waitFor();
    found.ended = await allViolationsOf(page);
    expect(found).toEqual({ refused: [], forbidden: [], ended: [] });
    await close();
  });
});
