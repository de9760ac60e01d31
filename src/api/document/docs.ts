import { Type } from "@sinclair/typebox";
import type { ApiDeps } from "../deps.ts";
import { contentPolicy, inlineHash } from "../response/content-policy.ts";
import { responseHeaders } from "../response/errors.ts";
import { route } from "../route.ts";
import type { OpenApiDocument } from "./openapi.ts";
import page from "./viewer.html" with { type: "text" };

// The import is a string, also in the executable. bun-types declares every .html import as a
// bundle.
const viewer = page as unknown as string;

/**
 * Creates the routes of the OpenAPI document and its HTML viewer. The document describes all
 * routes, these two included. `documentOf` is called at the first request for the document.
 */
export function docsRoutes(documentOf: (deps: ApiDeps) => OpenApiDocument) {
  const texts = new WeakMap<ApiDeps, string>();
  return [
    route("GET /docs", {
      summary: "Read this document in a browser, which asks for a token as password",
      needs: [],
      answer: Type.String(),
      media: "text/html",
      example: { answer: "<!doctype html>" },
      handle: ({ deps }) => new Response(viewer, { headers: pageHeaders(deps.dataPlaneUrl()) }),
    }),

    route("GET /docs/json", {
      summary: "This OpenAPI 3.1 document",
      needs: [],
      answer: Type.Object({ openapi: Type.String() }),
      example: { answer: { openapi: "3.1.0" } },
      handle({ deps }) {
        const text = texts.getOrInsertComputed(deps, () => JSON.stringify(documentOf(deps)));
        return new Response(text, {
          headers: { "Content-Type": "application/json", ...responseHeaders },
        });
      },
    }),
  ] as const;
}

/**
 * Returns the security headers of the OpenAPI viewer's page. They allow only the page's inline
 * script and style, identified by their hashes, and requests only to the control plane and the data
 * plane.
 */
function pageHeaders(dataPlaneUrl: string) {
  return {
    ...responseHeaders,
    "Content-Type": "text/html; charset=utf-8",
    ...contentPolicy(
      `connect-src 'self' ${new URL(dataPlaneUrl).origin}`,
      `script-src ${hashOf("script")}`,
      `style-src ${hashOf("style")}`,
    ),
  };
}

function hashOf(element: "script" | "style"): string {
  const inside = new RegExp(`<${element}>([^]*?)</${element}>`).exec(viewer)?.[1] ?? "";
  return inlineHash(inside);
}
