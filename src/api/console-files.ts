import { ApiError } from "../errors.ts";
import type { ApiDeps } from "./deps.ts";
import { expectHost } from "./request/cross-site.ts";
import { responseHeaders } from "./response/errors.ts";

/** The bundle that `src/console/bundle.ts` writes, as JSON compressed by zstd. */
export interface ConsoleBundle {
  /** The page. */
  html: string;
  /** Files that the page loads, by a name that changes with their content. */
  assets: Record<string, string>;
  /** Assets that the page loads at once; the others load with the screens that need them. */
  first: string[];
}

const ASSETS = "/console/";

const types: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

let opened: Promise<ConsoleBundle> | undefined;
const gzipped = new Map<string, Uint8Array<ArrayBuffer>>();

/**
 * The response of the web console: the page at `/` or one of its files; undefined for other paths.
 * The files need no token, since the page asks the API for all data.
 */
export async function consoleResponse(
  { method, headers }: Request,
  pathname: string,
  { hosts, dataPlaneUrl }: Pick<ApiDeps, "hosts" | "dataPlaneUrl">,
): Promise<Response | undefined> {
  if (method !== "GET" && method !== "HEAD") return undefined;
  if (pathname !== "/" && !pathname.startsWith(ASSETS)) return undefined;
  expectHost(headers, hosts);
  const bundle = await open();
  const name = pathname.slice(ASSETS.length);
  if (pathname === "/") return answer(headers, "html", bundle.html, pageHeaders(dataPlaneUrl()));
  const text = Object.hasOwn(bundle.assets, name) ? bundle.assets[name] : undefined;
  if (text === undefined) return undefined;
  // The name changes with the content.
  const caching = { "Cache-Control": "public, max-age=31536000, immutable" };
  return answer(headers, name, text, caching);
}

/** Addresses of the console's style sheets; none in a checkout whose console is not made yet. */
export async function consoleStyles(): Promise<string[]> {
  const { first } = await open().catch((error: unknown) => {
    if (error instanceof ApiError) return { first: [] };
    throw error;
  });
  return first.filter((name) => name.endsWith(".css")).map((name) => ASSETS + name);
}

function open(): Promise<ConsoleBundle> {
  opened ??= read().catch((error: unknown) => {
    opened = undefined;
    // Only in a checkout: the executable embeds the console.
    if (error instanceof Error && /Cannot find module/.test(error.message)) {
      throw new ApiError("unavailable", "The console is not made yet: run `sh .ci/setup`");
    }
    throw error;
  });
  return opened;
}

async function read(): Promise<ConsoleBundle> {
  const { default: path } = await import("../../dist/console/console.zst", {
    with: { type: "file" },
  });
  const text = Buffer.from(await Bun.zstdDecompress(await Bun.file(path).bytes()));
  return JSON.parse(text.toString());
}

function answer(
  requestHeaders: Headers,
  name: string,
  text: string,
  more: Record<string, string>,
): Response {
  const headers = {
    ...responseHeaders,
    ...more,
    "Content-Type": types[name.replace(/^.*\./, "")] ?? "application/octet-stream",
    Vary: "Accept-Encoding",
  };
  if (!/\bgzip\b/.test(requestHeaders.get("accept-encoding") ?? ""))
    return new Response(text, { headers });
  const bytes = gzipped.get(name) ?? Bun.gzipSync(Buffer.from(text), { level: 9 });
  gzipped.set(name, bytes);
  return new Response(bytes, { headers: { ...headers, "Content-Encoding": "gzip" } });
}

/**
 * Headers that let the page run only its own scripts and reach only the two planes: markup in a
 * name, an event or an error text does nothing, even if the page rendered it.
 */
function pageHeaders(dataPlaneUrl: string): Record<string, string> {
  return {
    "Content-Security-Policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      // Markers of the code editor are data URLs.
      "img-src 'self' data:",
      `connect-src 'self' ${new URL(dataPlaneUrl).origin}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join("; "),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
  };
}
