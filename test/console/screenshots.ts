/**
 * `npm run screenshots [DIRECTORY]`: photographs every screen of the console, light, dark and
 * narrow. With `--keep`, some of them replace those of the documents.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { launch } from "../api/_chromium.ts";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { openPage, signInByForm } from "./_browser.ts";
import { writeHistory } from "./_figure-history.ts";
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
  "destination settings light": "destination-settings.png",
  "history light": "revisions.png",
  "source light": "source.png",
  "rudder-server destination light": "rudder-server-destination.png",
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
  if (screen.name === "destination settings") await showFilter(page);
  if (screen.name === "source") await page.getByLabel("SDK or snippet").selectOption({ index: 1 });
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

/** Scrolls to the filter of a destination, below its settings. */
async function showFilter(page: Page): Promise<void> {
  const filter = page.getByRole("heading", { name: "Event filter" });
  await filter.evaluate((it) => it.scrollIntoView({ block: "start" }));
}

/** Runs the code of the editor, whose result is beside it. */
async function runCode(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("region", { name: "Result" }).locator(".badge").first().waitFor();
}

/**
 * Adds what the tests' scene lacks: a filter, a note on a revision, a destination of rudder-server.
 */
async function addToScene({ server, ids }: Scene): Promise<SceneScreen[]> {
  const call = async (method: string, path: string, body?: object) => {
    const answer = await server.api(method, path, body);
    if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const conditions = [
    { path: "event", values: ["Signed up"] },
    { path: "properties.plan", values: ["pro", "team"] },
  ];
  await call("PUT", `/v2/destinations/${ids.healthy}`, { filter: { mode: "only", conditions } });
  const path = `/transformations/${ids.transformation}`;
  const { code } = await call("GET", path);
  const changed = code.replace('plan === "internal"', 'plan === "internal" || plan === "test"');
  const note = "Test accounts are no sign-ups (asked for by finance)";
  await call("POST", `${path}?publish=true`, { code: changed, note });
  const { destination } = await call("POST", "/v2/destinations", {
    name: "Clickstream",
    type: "KAFKA",
    deliveredBy: "rudder-server",
    config: { hostName: "kafka.test", port: "9092", topic: "events" },
  });
  const hash = `#/destinations/${destination.id}?tab=settings`;
  return [{ name: "rudder-server destination", hash, loaded: "text=Settings (JSON)" }];
}

mkdirSync(directory, { recursive: true });
if (keeps) mkdirSync(KEPT, { recursive: true });
await ensureConsole();
const [scene, browser] = await Promise.all([startScene(), launch()]);
try {
  await writeHistory(scene);
  const screens = [...screensOf(scene), ...(await addToScene(scene))];
  for (const [variant, options] of variants) {
    const { page, close } = await openPage(browser, options);
    await page.goto(scene.server.controlPlane);
    await page.getByLabel("Token").waitFor();
    await page.screenshot({ path: join(directory, `sign-in-${variant}.png`) });
    await signInByForm(page, scene.server.controlPlane, ADMIN_TOKEN);
    for (const screen of screens) await shoot(scene, page, screen, variant);
    await close();
  }
} finally {
  await browser.close();
  await scene.stop();
}
process.stdout.write(`Screenshots are in ${directory}\n`);
