import { join } from "node:path";
import type { Page, Request } from "playwright-core";
import { sharedBrowser } from "../api/_chromium.ts";
import { packages, programs } from "./packages.ts";
import type { Call, ClientOptions, SdkClient, SdkProgram } from "./program.ts";

/** Functions that the programs of browsers define in the page. */
interface PageFunctions {
  openSdk(options: ClientOptions): void;
  callSdk(call: Call): void;
  /** Resolves when the SDK has its configuration. */
  loaded: Promise<void>;
}

/** An SDK in a page. */
export interface BrowserClient extends SdkClient {
  page: Page;
  /** Resolves when the SDK has its configuration. */
  loaded(): Promise<void>;
  /** Addresses of other machines that the page asked for. */
  foreign: readonly string[];
}

export interface BrowserProgram extends SdkProgram {
  open(name: string, options: ClientOptions): Promise<BrowserClient>;
}

/**
 * Serves pages that load an SDK from the folder of its package and a program that starts it. Each
 * client is a page in a browser context of its own.
 */
export async function startBrowser(program: string, folder: string): Promise<BrowserProgram> {
  const html = `<!doctype html><meta charset="utf-8"><title>Shop</title><script src="/sdk/index.js"></script>
<script src="/program/calls.js"></script><script src="/program/${program}"></script>`;
  const pages = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const [, part, file = ""] = new URL(request.url).pathname.split("/");
      if (part === "sdk")
        return new Response(Bun.file(join(packages, "npm/node_modules", folder, file)));
      if (part === "program") return new Response(Bun.file(join(programs, "browser", file)));
      return new Response(html, { headers: { "content-type": "text/html" } });
    },
  });
  const browser = await sharedBrowser();
  return {
    async open(_, options) {
      const context = await browser.newContext({ locale: "de-DE" });
      const page = await context.newPage();
      page.setDefaultTimeout(240_000);
      const foreign: string[] = [];
      page.on("request", (request) => {
        if (new URL(request.url()).hostname !== "127.0.0.1") foreign.push(request.url());
      });
      // On a busy machine Chromium may fail to connect. A page that was not loaded has no SDK.
      do await page.goto(`http://127.0.0.1:${pages.port}/`).catch(() => undefined);
      while (!(await isConfigured(page, options)));
      return {
        page,
        foreign,
        loaded: () => page.evaluate(() => (globalThis as unknown as PageFunctions).loaded),
        call: (call) =>
          page.evaluate((call) => (globalThis as unknown as PageFunctions).callSdk(call), call),
        outcomes: () => [],
      };
    },
    async stop() {
      await pages.stop(true);
    },
  };
}

/**
 * Starts the SDK of a page. Returns whether its request for the configuration was answered. On a
 * busy machine RudderStack's SDK gives up after 10 seconds, and does not ask again; a script of the
 * page may be missing too.
 */
async function isConfigured(page: Page, options: ClientOptions): Promise<boolean> {
  const isLoaded = await page.evaluate(() => {
    const hasSdk = "rudderanalytics" in globalThis || "AnalyticsNext" in globalThis;
    return hasSdk && "openSdk" in globalThis && "callSdk" in globalThis;
  });
  if (!isLoaded) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const isAsked = (request: Request) =>
    request.method() === "GET" && request.url().startsWith(options.address);
  const finished = (request: Request) => isAsked(request) && resolve(true);
  const failed = (request: Request) => isAsked(request) && resolve(false);
  page.on("requestfinished", finished).on("requestfailed", failed);
  await page.evaluate(
    (options) => (globalThis as unknown as PageFunctions).openSdk(options),
    options,
  );
  const isAnswered = await promise;
  page.off("requestfinished", finished).off("requestfailed", failed);
  return isAnswered;
}
