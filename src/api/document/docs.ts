import { Type } from "@sinclair/typebox";
import type { ApiDeps } from "../deps.ts";
import { responseHeaders } from "../response/errors.ts";
import { route } from "../route.ts";
import { inlineHash } from "./inline-hash.ts";
import type { OpenApiDocument } from "./openapi.ts";
import page from "./viewer.html" with { type: "text" };

// This import is a text, in the executable too; bun-types declares every .html import as a bundle.
const viewer = page as unknown as string;

/**
 * Routes of the document and its viewer. The document of all routes, these two included, is made
 * when a server is first asked for it.
 */
export function docsRoutes(documentOf: (deps: ApiDeps) => OpenApiDocument) {
  const documents = new WeakMap<ApiDeps, OpenApiDocument>();
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
        const document = documents.get(deps) ?? documentOf(deps);
        documents.set(deps, document);
        return document;
      },
    }),
  ] as const;
}

/**
 * Headers of the viewer: it loads nothing but the document from here, and sends requests to the two
 * planes alone. Its script and style are allowed by their hashes.
 */
function pageHeaders(dataPlaneUrl: string) {
  return {
    ...responseHeaders,
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": [
      "default-src 'none'",
      `connect-src 'self' ${new URL(dataPlaneUrl).origin}`,
      `script-src ${hashOf("script")}`,
      `style-src ${hashOf("style")}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
  };
}

function hashOf(element: "script" | "style"): string {
  const inside = new RegExp(`<${element}>([^]*?)</${element}>`).exec(viewer)?.[1] ?? "";
  return inlineHash(inside);
}
