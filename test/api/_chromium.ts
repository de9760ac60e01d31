import { type Browser, chromium } from "playwright-core";
import type { Missing } from "../counterpart.ts";
import { onRunEnd } from "../shared.ts";

/**
 * The shell has the engine without the windows, and needs half the CPU time of the whole browser.
 */
const executablePath = [
  "chromium-headless-shell",
  ...["chromium", "chromium-browser", "google-chrome"],
]
  .map((name) => Bun.which(name))
  .find((path) => path !== null);

export const chromiumMissing: Missing = executablePath ? undefined : "Chromium not installed";

const args = [
  "--no-sandbox",
  // Names below `.test` are this machine.
  "--host-resolver-rules=MAP *.test 127.0.0.1",
  // Fewer processes take an eighth of the CPU time less.
  ...["--no-zygote", "--in-process-gpu", "--renderer-process-limit=1"],
  "--disable-features=SpareRendererForSitePerProcess,BackForwardCache",
];

export function launch(): Promise<Browser> {
  if (!executablePath) throw new Error("Chromium is not installed");
  return chromium.launch({ executablePath, args, timeout: 240_000 });
}

let shared: Promise<Browser> | undefined;

/** The browser of all test files of this process; each page has a context of its own. */
export function sharedBrowser(): Promise<Browser> {
  if (shared === undefined) {
    const starting = launch();
    shared = starting;
    onRunEnd(async () => {
      const browser = await starting;
      // A renderer that ends before the browser does counts in the CPU time of this process.
      for (const context of browser.contexts()) await context.close();
      await browser.close();
    });
  }
  return shared;
}
