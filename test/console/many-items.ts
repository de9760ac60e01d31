/**
 * `bun test/console/many-items.ts [LETTERS] [TRANSFORMATIONS]`: measures how long each screen takes
 * with many items; 1,000,000 letters and 10,000 transformations by default.
 */

import { join } from "node:path";
import { pino } from "pino";
import type { Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { launch } from "../api/_chromium.ts";
import { ADMIN_TOKEN, removeDirectory, type Server, startServer } from "../e2e/server.ts";
import { fail } from "../pipeline/doubles.ts";
import { openPage, signIn } from "./_browser.ts";

export interface ManyItems {
  letters: number;
  transformations: number;
}

/** Milliseconds until each step was rendered, and the page's long tasks. */
export interface Waits {
  steps: Record<string, number>;
  longTasks: number[];
}

const BATCH_LETTERS = 20_000;
const code = "export function transformEvent(event) { return event; }";

/** Fills a server, opens its screens and purges the letters. */
export async function openManyItems(items: ManyItems): Promise<Waits> {
  await ensureConsole();
  const before = await startServer({ flags: ["--admin-rate", "0"] });
  const { directory } = before;
  const owner = await fill(before, items.transformations);
  await before.stop();
  await writeLetters(join(directory, "data/delivery"), owner, items.letters);
  const server = await startServer({ directory });
  const browser = await launch();
  try {
    const { page, close } = await openPage(browser);
    await signIn(page, server.controlPlane, ADMIN_TOKEN);
    const waits = await walk(page, server, items);
    await close();
    return waits;
  } finally {
    await browser.close();
    await server.stop();
    removeDirectory(directory);
  }
}

async function walk(page: Page, { controlPlane }: Server, items: ManyItems): Promise<Waits> {
  const steps: Record<string, number> = {};
  await page.goto(controlPlane);
  await page.locator(".graph .node").first().waitFor();
  steps["first screen"] = Math.round(Number(await page.evaluate("performance.now()")));
  await page.evaluate(`globalThis.tasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(Math.round(duration));
    }).observe({ entryTypes: ["longtask"] });`);
  const step = async (name: string, act: () => Promise<unknown>, selector: string) => {
    const beganAt = performance.now();
    await act();
    await page.locator(selector).first().waitFor();
    steps[name] = Math.round(performance.now() - beganAt);
  };
  const place = (hash: string) => page.goto(`${controlPlane}/${hash}`);
  const press = (name: string | RegExp) => page.getByRole("button", { name }).click();

  await step("transformations", () => place("#/transformations"), "td >> text=T1");
  await step("reasons", () => place("#/dead-letters"), "td >> text=HTTP 406 from receiver");
  await step("letters", () => place("#/dead-letters?all=1"), "td input");
  await step(
    "next page",
    () => press("Next page"),
    "[aria-label='Previous page']:not([aria-disabled])",
  );
  await press(/^Purge all/);
  await step("purge listed", () => press(/^Purge$/), "td >> text=Purge");
  await place("#/dead-letters?all=1");
  const left = `text=/${new Intl.NumberFormat("en").format(items.letters)} events, oldest/`;
  await page.locator(left).waitFor({ state: "detached" });
  return { steps, longTasks: (await page.evaluate("tasks")) as number[] };
}

/** A source, a destination, their connection and many transformations. */
async function fill(server: Server, transformations: number) {
  const post = async (path: string, body: unknown) => (await server.api("POST", path, body)).body;
  const { workspace } = (await server.api("GET", "/v2/workspace")).body;
  const { source } = await post("/v2/sources", { name: "Source" });
  const { destination } = await post("/v2/destinations", {
    name: "Archive",
    type: "file",
    config: { path: "archive.jsonl" },
  });
  await post("/v2/connections", { sourceId: source.id, destinationId: destination.id });
  for (let n = 1; n <= transformations; n++) {
    await post("/transformations", { name: `T${n}`, language: "javascript", code });
  }
  return { workspaceId: workspace.id, sourceId: source.id, destinationId: destination.id };
}

type LetterOwner = Pick<StoredLetter, "workspaceId" | "sourceId" | "destinationId">;

/** Writes letters to the ledger in batches, as a lane commits them. */
async function writeLetters(directory: string, owner: LetterOwner, count: number): Promise<void> {
  const ledger = openLedger(directory, pino({ level: "silent" }));
  const { destinationId } = owner;
  for (let at = 0; at < count; at += BATCH_LETTERS) {
    const batch = Math.min(BATCH_LETTERS, count - at);
    const letters = Array.from({ length: batch }, (_, n) => letterOf(owner, at + n));
    const record = ledger.lane(destinationId) ?? { logs: {}, known: {} };
    const { promise, resolve } = Promise.withResolvers<void>();
    ledger.schedule({
      collect: () => ({ destinationId, record, deadLetters: letters, settledRequeued: [] }),
      committed: () => resolve(),
      fail,
    });
    await promise;
  }
  await ledger.close();
}

function letterOf(owner: LetterOwner, n: number): StoredLetter {
  const createdAt = 1_700_000_000_000 + n;
  return {
    ...owner,
    id: Bun.randomUUIDv7("hex", createdAt),
    messageId: crypto.randomUUID(),
    stage: "deliver",
    reason: `HTTP ${400 + (n % 7)} from receiver`,
    attempts: 1,
    text: JSON.stringify({ type: "track", event: `Event ${n}`, properties: { n } }),
    user: "u",
    type: "track",
    receivedAt: createdAt,
    createdAt,
  };
}

export function summaryOf({ steps, longTasks }: Waits): string {
  const waited = Object.entries(steps).map(([name, ms]) => `${name} ${ms} ms`);
  return `console: ${waited.join(", ")}; long tasks (ms): ${longTasks.join(", ") || "none"}\n`;
}

if (import.meta.main) {
  const [letters = 1_000_000, transformations = 10_000] = process.argv.slice(2).map(Number);
  process.stdout.write(summaryOf(await openManyItems({ letters, transformations })));
}
