/**
 * `npm run console-speed [ROUNDS]`: measures what a person waits for in the console, with 500
 * destinations: the first load, the overview, the editor's opening, and a key in 1,500 lines.
 */
import type { Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { launch } from "../api/_chromium.ts";
import { ADMIN_TOKEN, removeDirectory, type Server, startServer } from "../e2e/server.ts";
import { openPage, signInByForm } from "./_browser.ts";
import { editor } from "./_editor.ts";

const [rounds = 5] = process.argv.slice(2).map(Number);
const DESTINATIONS = 500;
const LINES = 1_500;
const KEYS = 60;

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;

/** Fills a server. Returns the id of a transformation with many lines. */
async function fill(server: Server): Promise<string> {
  const post = async (path: string, body: object) => (await server.api("POST", path, body)).body;
  const { source } = await post("/v2/sources", { name: "Website" });
  for (let n = 0; n < DESTINATIONS; n++) {
    const config = { webhookUrl: `http://127.0.0.1:9/${n}` };
    const made = await post("/v2/destinations", { name: `Billing ${n}`, type: "webhook", config });
    await post("/v2/connections", { sourceId: source.id, destinationId: made.destination.id });
  }
  const lines = Array.from({ length: LINES }, (_, n) => `const a${n} = { b: ${n} };`);
  const code = `${lines.join("\n")}\nexport const transformEvent = (event) => event;\n`;
  return (await post("/transformations", { name: "Long", language: "javascript", code })).id;
}

/** Milliseconds and bytes of one visit with an empty cache. */
async function visit(server: Server, transformation: string) {
  const browser = await launch();
  try {
    const { page, close } = await openPage(browser);
    const devTools = await page.context().newCDPSession(page);
    await devTools.send("Network.enable");
    let bytes = 0;
    devTools.on("Network.loadingFinished", (it) => {
      bytes += it.encodedDataLength;
    });
    await page.goto(server.controlPlane);
    await page.getByLabel("Token").waitFor();
    const firstPaint = await paintOf(page);
    const firstLoad = bytes;
    await signInByForm(page, server.controlPlane, ADMIN_TOKEN);
    await page.locator(".graph .node").first().waitFor();
    bytes = 0;
    await page.reload();
    await page.locator(".graph .node").first().waitFor();
    const overview = Number(await page.evaluate("performance.now()"));
    const size = (await (await fetchOverview(server)).arrayBuffer()).byteLength;
    const openedAt = performance.now();
    await page.evaluate(`location.hash = "#/transformations/${transformation}"`);
    await editor(page).waitFor();
    const editorOpen = performance.now() - openedAt;
    const key = await timeOfKey(page);
    await close();
    return { firstLoad, firstPaint, overview, overviewBytes: size, editorOpen, ...key };
  } finally {
    await browser.close();
  }
}

const paintOf = (page: Page) =>
  page.evaluate(
    `new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()[0].startTime))
      .observe({ type: "paint", buffered: true }))`,
  ) as Promise<number>;

const fetchOverview = ({ controlPlane }: Server) =>
  fetch(`${controlPlane}/v2/overview`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });

/** Milliseconds of the main thread for a key, median and slowest, in the middle of the code. */
async function timeOfKey(page: Page): Promise<{ key: number; keyMax: number }> {
  await editor(page).click();
  for (const key of "lets") await page.keyboard.press(key);
  // Events of the browser with the time of their handlers and of the layout after them.
  const times = (await editor(page).evaluate(async (element, keys) => {
    element.focus();
    const found: number[] = [];
    const document = Reflect.get(globalThis, "document");
    for (let n = 0; n < keys; n++) {
      const beganAt = performance.now();
      document.execCommand("insertText", false, "a");
      // Reading a size ends the layout. CodeMirror measures in the next frame.
      element.getBoundingClientRect();
      found.push(performance.now() - beganAt);
      await new Promise((done) =>
        Reflect.get(globalThis, "requestAnimationFrame")(() => setTimeout(done)),
      );
    }
    return found;
  }, KEYS)) as number[];
  return { key: median(times), keyMax: Math.max(...times) };
}

await ensureConsole();
const server = await startServer({ flags: ["--admin-rate", "0"] });
try {
  const transformation = await fill(server);
  const visits: Awaited<ReturnType<typeof visit>>[] = [];
  for (let n = 0; n < rounds; n++) {
    visits.push(await visit(server, transformation));
    process.stdout.write(
      `${JSON.stringify(visits.at(-1), (_, it) => (typeof it === "number" ? Math.round(it * 10) / 10 : it))}\n`,
    );
  }
  const names = Object.keys(visits[0]!) as (keyof (typeof visits)[0])[];
  const medians = names.map(
    (name) => `${name} ${Math.round(median(visits.map((it) => it[name])) * 10) / 10}`,
  );
  process.stdout.write(`medians: ${medians.join(", ")}\n`);
} finally {
  await server.stop();
  removeDirectory(server.directory);
}
