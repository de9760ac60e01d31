/**
 * `npm run console-tail [MINUTES] [EVENTS_PER_SECOND]`: keeps the live tail open under load, and
 * prints each minute what the page has in memory, and how long its tasks and frames took; 60
 * minutes at 50 events a second by default.
 */
import type { CDPSession, Page } from "playwright-core";
import { ensureConsole } from "../../src/console/bundle.ts";
import { launch } from "../api/_chromium.ts";
import {
  ADMIN_TOKEN,
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
} from "../e2e/server.ts";
import { openPage, signIn } from "./_browser.ts";

const [minutes = 60, perSecond = 50] = process.argv.slice(2).map(Number);
const TICK_MS = 100;

const code = `export function transformEvent(event) {
  if (event.properties.n % 10 === 0) return;
  event.properties.seen = true;
  return event;
}
`;

/** Sends events at the rate until the signal aborts. Resolves with how many were sent. */
async function sendSteadily(server: Server, writeKey: string, stop: AbortSignal): Promise<number> {
  const beganAt = performance.now();
  let sent = 0;
  while (!stop.aborted) {
    const due = Math.floor(((performance.now() - beganAt) / 1_000) * perSecond);
    const requests: Promise<unknown>[] = [];
    for (; sent < due; sent++) {
      requests.push(
        pixel(server, "track", {
          writeKey,
          anonymousId: `visitor-${sent % 500}`,
          event: `Event ${sent % 20}`,
          "properties.n": String(sent),
          "properties.title": "A title of a usual length, with some words in it",
        }),
      );
    }
    await Promise.all(requests);
    await Bun.sleep(TICK_MS);
  }
  return sent;
}

/** Lengths in milliseconds of what a page did since it was last asked. */
interface Work {
  frames: number[];
  tasks: number[];
}

/** Script that notes the time between a page's frames, and each task of 50 ms and more. */
const noteWork = `(() => {
  const work = (globalThis.work = { frames: [], tasks: [] });
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) work.tasks.push(duration);
  });
  observer.observe({ entryTypes: ["longtask"] });
  let last = performance.now();
  const frame = (now) => {
    work.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})()`;

async function workOf(page: Page): Promise<Record<string, number>> {
  const { frames, tasks } = (await page.evaluate(
    "({ ...Object.assign({}, work), ...void Object.assign(work, { frames: [], tasks: [] }) })",
  )) as Work;
  frames.sort((one, other) => one - other);
  return {
    frames: frames.length,
    frameMsP99: Math.round(frames[Math.floor(frames.length * 0.99)] ?? 0),
    frameMsMax: Math.round(frames.at(-1) ?? 0),
    longTasks: tasks.length,
    taskMsMax: Math.round(Math.max(0, ...tasks)),
  };
}

/** Memory and work of the page, after its garbage was collected. */
async function usageOf(page: Page, devTools: CDPSession): Promise<Record<string, number | string>> {
  const work = await workOf(page);
  await devTools.send("HeapProfiler.collectGarbage");
  const { metrics } = await devTools.send("Performance.getMetrics");
  const metric = (name: string) => metrics.find((it) => it.name === name)?.value ?? 0;
  return {
    heapMb: Number((metric("JSHeapUsedSize") / 1e6).toFixed(2)),
    nodes: metric("Nodes"),
    listeners: metric("JSEventListeners"),
    taskSeconds: Number(metric("TaskDuration").toFixed(1)),
    ...work,
    rate: await textOf(page, "main .badge"),
    buffered: await textOf(page, "main .pages"),
  };
}

const textOf = async (page: Page, selector: string) =>
  String(await page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent`));

await ensureConsole();
const server = await startServer();
const sink = startSink();
const browser = await launch();
const stop = new AbortController();
try {
  const { writeKey } = await route(server, { url: sink.url, code });
  const { page, close } = await openPage(browser);
  await signIn(page, server.controlPlane, ADMIN_TOKEN, "#/events");
  // The rows stay as they are while the pointer is over them.
  await page.mouse.move(1, 1);
  const sending = sendSteadily(server, writeKey, stop.signal);
  await page.locator("tbody tr").first().waitFor();
  const devTools = await page.context().newCDPSession(page);
  await devTools.send("Performance.enable");
  await page.evaluate(noteWork);
  for (let minute = 0; minute <= minutes; minute++) {
    const usage = await usageOf(page, devTools);
    process.stdout.write(`${JSON.stringify({ minute, ...usage })}\n`);
    if (minute < minutes) await Bun.sleep(60_000);
  }
  stop.abort();
  process.stdout.write(`${await sending} events sent, ${sink.events.length} delivered\n`);
  await close();
} finally {
  stop.abort();
  await browser.close();
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
}
