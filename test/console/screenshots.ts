/**
 * `npm run screenshots [DIRECTORY]`: every screen of the console, light, dark and narrow, over a
 * workspace with something of everything. With `--keep` two of them become the README's.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { launch } from "../api/_chromium.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { openPage, signIn } from "./_browser.ts";
import { placesOf, type Scene, type ScenePlace, startScene } from "./_scene.ts";

const [, , ...args] = process.argv;
const keeps = args.includes("--keep");
const directory = args.find((arg) => !arg.startsWith("--")) ?? "dist/screenshots";
const KEPT = join(import.meta.dir, "../../src/console/screenshots");
const kept: Record<string, string> = {
  "overview light": "overview.png",
  "live tail dark": "live-tail.png",
};

const ways = [
  ["light", {}],
  ["dark", { colorScheme: "dark" }],
  ["narrow", { viewport: { width: 390, height: 844 } }],
] as const;

async function shoot(scene: Scene, page: Page, place: ScenePlace, way: string): Promise<void> {
  await page.goto(`${scene.server.controlPlane}/${place.hash}`);
  await page.locator(place.seen).first().waitFor();
  if (place.name === "live tail") await liven(scene, page);
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  // Charts draw themselves a moment later.
  await page.waitForTimeout(400);
  const name = `${place.name.replaceAll(" ", "-")}-${way}.png`;
  await page.screenshot({ path: join(directory, name), fullPage: way === "narrow" });
  const keptAs = kept[`${place.name} ${way}`];
  if (keeps && keptAs !== undefined) {
    await page.screenshot({ path: join(KEPT, keptAs), animations: "disabled" });
  }
}

/** Events come while the tail is open. */
async function liven(scene: Scene, page: Page): Promise<void> {
  const names = ["Signed up", "Opened pricing", "Invited a colleague", "Left"];
  for (let n = 0; n < 14; n++) {
    const plan = n % 5 === 0 ? "internal" : "pro";
    const event = names[n % names.length]!;
    await scene.send({ anonymousId: `visitor-${n}`, event, "properties.plan": plan });
  }
  await page.locator(".badge.bad").first().waitFor();
}

mkdirSync(directory, { recursive: true });
if (keeps) mkdirSync(KEPT, { recursive: true });
await ensureConsole();
const [scene, browser] = await Promise.all([startScene(), launch()]);
try {
  for (const [way, options] of ways) {
    const { page, close } = await openPage(browser, options);
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").waitFor();
    await page.screenshot({ path: join(directory, `sign-in-${way}.png`) });
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    for (const place of placesOf(scene)) await shoot(scene, page, place, way);
    await close();
  }
} finally {
  await browser.close();
  await scene.stop();
}
process.stdout.write(`Screenshots are in ${directory}\n`);
