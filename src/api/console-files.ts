import { ApiError } from "../errors.ts";
import { recentResult } from "../observe/recent-result.ts";
import type { ApiDeps } from "./deps.ts";
import { expectHost } from "./request/cross-site.ts";
import { contentPolicy } from "./response/content-policy.ts";
import { responseHeaders } from "./response/errors.ts";
import { takesGzip } from "./response/gzip.ts";

/**
 * Content of the file that `src/console/bundle.ts` writes: the files of the console as JSON,
 * compressed with Zstandard.
 */
export interface ConsoleBundle {
  /** HTML of the console's only page. */
  html: string;
  /**
   * Contents of the scripts and style sheets that the page loads, by file name. The name changes
   * with the content.
   */
  assets: Record<string, string>;
  /**
   * Names of the assets that the page loads immediately. A screen loads its other assets when it
   * opens.
   */
  first: string[];
}

const ASSETS = "/console/";

const types: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

const gzipped = new Map<string, Uint8Array<ArrayBuffer>>();

/**
 * Serves the web console: its page at `/`, and the page's assets. Resolves with undefined for other
 * paths. Page and assets contain no data, so they need no token; the page requests all data from
 * the API.
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
  // A file's name changes with its content, so that a browser may keep the file.
  const caching = { "Cache-Control": "public, max-age=31536000, immutable" };
  return answer(headers, name, text, caching);
}

/**
 * Resolves with the paths of the console's style sheets. The list is empty in a checkout in which
 * the console has not been built.
 */
export async function consoleStyles(): Promise<string[]> {
  const { first } = await open().catch((error: unknown) => {
    if (error instanceof ApiError) return { first: [] };
    throw error;
  });
  return first.filter((name) => name.endsWith(".css")).map((name) => ASSETS + name);
}

const open = recentResult(Number.POSITIVE_INFINITY, () =>
  read().catch((error: unknown) => {
    // The file is missing only in a checkout, because the executable contains it.
    if (error instanceof Error && /Cannot find module/.test(error.message)) {
      throw new ApiError("unavailable", "The console is not built yet: run `sh .ci/setup`");
    }
    throw error;
  }),
);

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
  if (!takesGzip(requestHeaders)) return new Response(text, { headers });
  const zip = () => Bun.gzipSync(Buffer.from(text), { level: 9 });
  const bytes = gzipped.getOrInsertComputed(name, zip);
  return new Response(bytes, { headers: { ...headers, "Content-Encoding": "gzip" } });
}

/**
 * Returns the security headers of the console's page. They allow only the page's own scripts, and
 * requests only to the control plane and the data plane. HTML shown by mistake can therefore run no
 * scripts.
 */
function pageHeaders(dataPlaneUrl: string): Record<string, string> {
  return {
    ...contentPolicy(
      "script-src 'self'",
      "style-src 'self'",
      // The code editor draws its markers from data URLs.
      "img-src 'self' data:",
      `connect-src 'self' ${new URL(dataPlaneUrl).origin}`,
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
  };
}
