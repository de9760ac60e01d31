/**
 * `npm run screenshots [DIRECTORY]`: photographs every screen of the console, light, dark and narrow.
 * With `--keep`, some of them replace those of the documents.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { launch } from "../api/_chromium.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { openPage, signIn } from "./_browser.ts";
import { type Scene, type SceneScreen, screensOf, startScene } from "./_scene.ts";

const [, , ...args] = process.argv;
const keeps = args.includes("--keep");
const directory = args.find((arg) => !arg.startsWith("--")) ?? "dist/screenshots";
const KEPT = join(import.meta.dir, "../../docs/screenshots");
const kept: Record<string, string> = {
  "overview light": "overview.png",
  "live tail dark": "live-tail.png",
  "destination light": "destination.png",
  "transformation light": "editor.png",
};

const variants = [
  ["light", {}],
  ["dark", { colorScheme: "dark" }],
  ["narrow", { viewport: { width: 390, height: 844 } }],
] as const;

async function shoot(
  scene: Scene,
  page: Page,
  screen: SceneScreen,
  variant: string,
): Promise<void> {
  await page.goto(`${scene.server.controlPlane}/${screen.hash}`);
  await page.locator(screen.loaded).first().waitFor();
  if (screen.name === "live tail") await sendEvents(scene, page);
  if (screen.name === "transformation") await runCode(page);
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
  // Charts render asynchronously.
  await page.waitForTimeout(400);
  const name = `${screen.name.replaceAll(" ", "-")}-${variant}.png`;
  await page.screenshot({ path: join(directory, name), fullPage: variant === "narrow" });
  const keptAs = kept[`${screen.name} ${variant}`];
  if (keeps && keptAs !== undefined) {
    await page.screenshot({ path: join(KEPT, keptAs), animations: "disabled" });
  }
}

/** Sends events while the tail is open. */
async function sendEvents(scene: Scene, page: Page): Promise<void> {
  const names = ["Signed up", "Opened pricing", "Invited a colleague", "Left"];
  for (let n = 0; n < 14; n++) {
    const plan = n % 5 === 0 ? "internal" : "pro";
    const event = names[n % names.length]!;
    await scene.send({ anonymousId: `visitor-${n}`, event, "properties.plan": plan });
  }
  await page.locator(".badge.bad").first().waitFor();
}

/** Runs the code of the editor, whose result is beside it. */
async function runCode(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("region", { name: "Result" }).locator(".badge").first().waitFor();
}

mkdirSync(directory, { recursive: true });
if (keeps) mkdirSync(KEPT, { recursive: true });
await ensureConsole();
const [scene, browser] = await Promise.all([startScene(), launch()]);
try {
  for (const [variant, options] of variants) {
    const { page, close } = await openPage(browser, options);
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").waitFor();
    await page.screenshot({ path: join(directory, `sign-in-${variant}.png`) });
    await signIn(page, scene.server.controlPlane, ADMIN_TOKEN);
    for (const screen of screensOf(scene)) await shoot(scene, page, screen, variant);
    await close();
  }
} finally {
  await browser.close();
  await scene.stop();
}
process.stdout.write(`Screenshots are in ${directory}\n`);
