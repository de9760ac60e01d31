/**
 * `bun test/console/many-items.ts [LETTERS] [ITEMS]`: measures how long each screen takes with many
 * items, and how large the answers of lists are; 1,000,000 letters and 10,000 transformations,
 * sources and destinations by default.
 */

import { join } from "node:path";
import { pino } from "pino";
import type { Page } from "playwright-core";
import { openCatalog } from "../../src/catalog/open.ts";
import { ensureConsole } from "../../src/console/bundle.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { launch } from "../api/_chromium.ts";
import { ADMIN_TOKEN, removeDirectory, type Server, startServer } from "../e2e/server.ts";
import { fail } from "../pipeline/doubles.ts";
import { openPage, signIn } from "./_browser.ts";

export interface ManyItems {
  letters: number;
  /** Number of transformations, of sources and of destinations. */
  items: number;
}

/** Milliseconds until each step was rendered, and the page's long tasks. */
export interface Waits {
  steps: Record<string, number>;
  longTasks: number[];
  /** Bytes of the longest answer to each list. */
  answerBytes: Record<string, number>;
}

const BATCH_LETTERS = 20_000;
/** Number of items that are made at once. */
const PARALLEL = 500;
const code = "export function transformEvent(event) { return event; }";

/** Fills a server, opens its screens and purges the letters. */
export async function openManyItems(items: ManyItems): Promise<Waits> {
  await ensureConsole();
  const before = await startServer({ flags: ["--admin-rate", "0"] });
  const { directory } = before;
  const owner = await fill(before);
  await before.stop();
  await writeItems(join(directory, "data/catalog"), owner.workspaceId, items.items);
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
  const answerBytes: Record<string, number> = {};
  page.on("response", async (response) => {
    const { pathname } = new URL(response.url());
    if (!/^\/v2\/(status|code|overview)/.test(pathname)) return;
    const { length } = await response.body().catch(() => "");
    answerBytes[pathname] = Math.max(length, answerBytes[pathname] ?? 0);
  });
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

  const last = items.items;
  const search = (text: string) => page.getByRole("searchbox").fill(text);
  for (const [screen, name] of [
    ["transformations", "T"],
    ["sources", "Source "],
    ["destinations", "Hook "],
  ] as const) {
    const row = (n: number) => `td >> text="${name}${n}"`;
    await step(screen, () => place(`#/${screen}?sort=name`), row(1));
    await step(`${screen}, last by name`, () => place(`#/${screen}?sort=-name`), row(last));
    const middle = Math.ceil(last / 2);
    await step(`${screen}, search`, () => search(`${name}${middle}`), row(middle));
    await search("");
    const answer = () => page.waitForResponse(/\/v2\/(status|code)/);
    await step(
      `${screen}, own order`,
      () => Promise.all([answer(), place(`#/${screen}`)]),
      "td a.cut",
    );
  }
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
  return { steps, longTasks: (await page.evaluate("tasks")) as number[], answerBytes };
}

/** A connected source and destination that has letters. */
async function fill(server: Server) {
  const post = async (path: string, sent: unknown) => {
    const { status, body } = await server.api("POST", path, sent);
    if (status > 201)
      throw new Error(`POST ${path} was answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };
  const { workspace } = (await server.api("GET", "/v2/workspace")).body;
  const { source } = await post("/v2/sources", { name: "Source" });
  const { destination } = await post("/v2/destinations", {
    name: "Archive",
    type: "file",
    config: { path: "archive.jsonl" },
  });
  await post("/v2/connections", { sourceId: source.id, destinationId: destination.id });
  return { workspaceId: workspace.id, sourceId: source.id, destinationId: destination.id };
}

/**
 * Writes transformations, and connected sources and destinations, to the catalog of a stopped
 * server.
 */
async function writeItems(directory: string, workspaceId: string, items: number): Promise<void> {
  const catalog = await openCatalog({ directory, logger: pino({ level: "silent" }) });
  const { code: codes, sources, destinations, connections } = catalog;
  const nothingElse = { publish: [], links: [], usedLibraries: [] };
  const webhook = { type: "webhook", config: { webhookUrl: "http://127.0.0.1:9/" } } as const;
  const makeItem = async (n: number) => {
    const input = { name: `T${n}`, description: "", language: "javascript", code } as const;
    const draft = codes.draft(workspaceId, "transformation", input);
    await codes.commit(workspaceId, { ...nothingElse, revisions: [draft] });
    const { id: sourceId } = await sources.create(workspaceId, { name: `Source ${n}` });
    const made = await destinations.create(workspaceId, { name: `Hook ${n}`, ...webhook });
    await connections.create(workspaceId, { sourceId, destinationId: made.id }, {});
  };
  for (let n = 1; n <= items; n += PARALLEL) {
    const count = Math.min(PARALLEL, items - n + 1);
    await Promise.all(Array.from({ length: count }, (_, k) => makeItem(n + k)));
  }
  await catalog.close();
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

export function summaryOf({ steps, longTasks, answerBytes }: Waits): string {
  const waited = Object.entries(steps).map(([name, ms]) => `${name} ${ms} ms`);
  const answers = Object.entries(answerBytes).map(([path, bytes]) => `${path} ${bytes}`);
  return (
    `console: ${waited.join(", ")}; long tasks (ms): ${longTasks.join(", ") || "none"}; ` +
    `longest answers (bytes): ${answers.join(", ")}\n`
  );
}

if (import.meta.main) {
  const [letters = 1_000_000, items = 10_000] = process.argv.slice(2).map(Number);
  process.stdout.write(summaryOf(await openManyItems({ letters, items })));
}
