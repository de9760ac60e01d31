import type { Catalog } from "../catalog/catalog.ts";
import type { CodeKind } from "../catalog/model.ts";
import { ApiError } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import { codeAnswer, rudderstackLibraryAnswer } from "../publishing/data-plane-code.ts";
import type { Sandbox } from "../sandbox/guest-sandbox.ts";
import { rudderstackLibraries } from "../sandbox/rudderstack-libraries/rudderstack-libraries.ts";
import { SandboxUnavailable } from "../sandbox/sandbox.ts";
import { version } from "../version.ts";
import { createCustomTransform } from "./custom-transform/endpoint.ts";
import { Programs } from "./programs.ts";
import { type Handler, objectIn, RequestFault } from "./requests.ts";
import { againResponse, jsonResponse, textResponse } from "./responses.ts";
import { CodeTests } from "./test-code/code-tests.ts";

export interface RouteParts {
  catalog: Catalog;
  sandbox: Sandbox;
  logger: Logger;
  /** Value that tests use instead of `TRANSFORMER_COSTLY_MS_MAX`. */
  costlyMsMax?: number;
}

export const CUSTOM_TRANSFORM = "/customTransform";

/**
 * Answer to `GET /features`, with which rudder-server asks what this server can do besides running
 * user code. All features are off, because this server transforms no events for destinations.
 */
const features = {
  routerTransform: {},
  regulations: [],
  supportSourceTransformV1: false,
  supportTransformerProxyV1: false,
  upgradedToSourceTransformV2: false,
  supportDestTransformCompactedPayloadV1: false,
};

/** Returns the handlers of all endpoints, by method and path. */
export function transformerRoutes(parts: RouteParts): ReadonlyMap<string, Handler> {
  const { catalog } = parts;
  const tests = new CodeTests(catalog, parts.sandbox);
  const customTransform = createCustomTransform({ ...parts, programs: new Programs(catalog) });
  return new Map<string, Handler>([
    [`POST ${CUSTOM_TRANSFORM}`, customTransform],
    ["POST /transformation/test", testing((body) => tests.test(body))],
    ["POST /transformation/testRun", testing((body) => tests.testRun(body))],
    ["POST /transformationLibrary/test", testing((body) => tests.testLibrary(body))],
    ["POST /transformation/sethandle", () => jsonResponse(200, { success: true })],
    ["POST /extractLibs", testing((body) => tests.extractLibs(body))],
    ["GET /transformation/getByVersionId", codeOf(catalog, "transformation")],
    ["GET /transformationLibrary/getByVersionId", codeOf(catalog, "library")],
    ...rudderstackLibraries.map(({ importName }) => {
      const [, name = ""] = importName.split("/");
      return [`GET /rudderstackTransformationLibraries/${name}`, libraryOf(name)] as const;
    }),
    ["GET /health", () => jsonResponse(200, { service: "UP", version })],
    ["GET /features", () => jsonResponse(200, features)],
    ["GET /version", () => textResponse(200, version)],
    ["GET /buildVersion", () => textResponse(200, version)],
  ]);
}

/**
 * Creates a handler for requests that test code. It responds with the result of `answer`, with
 * status 400 when the request or its code is at fault, or with 503 while this server cannot run
 * code.
 */
function testing(answer: (body: Record<string, unknown>) => Promise<unknown>): Handler {
  return async (exchange) => {
    try {
      return jsonResponse(200, await answer(objectIn(exchange.body())));
    } catch (error) {
      if (error instanceof RequestFault) return jsonResponse(400, { error: error.message });
      if (!(error instanceof SandboxUnavailable)) throw error;
      return againResponse("user_code_unavailable", "User code cannot be tested at the moment");
    }
  };
}

function codeOf(catalog: Catalog, kind: CodeKind): Handler {
  return async (exchange) => {
    const versionId = new URLSearchParams(exchange.query).get("versionId") ?? "";
    let found = codeAnswer(catalog, kind, versionId);
    try {
      // Another node of the cluster may have published the version a moment ago.
      if (found === undefined) await catalog.current();
    } catch (error) {
      if (error instanceof ApiError) return againResponse("unavailable", error.message);
      throw error;
    }
    found ??= codeAnswer(catalog, kind, versionId);
    const noun = kind === "library" ? "Library" : "Transformation";
    return found ? jsonResponse(200, found) : jsonResponse(404, { message: `${noun} not found` });
  };
}

function libraryOf(name: string): Handler {
  return ({ query }) => {
    const version = new URLSearchParams(query).get("version") ?? undefined;
    const found = rudderstackLibraryAnswer(name, version);
    if (found === undefined) return jsonResponse(404, { message: "Library not found" });
    return jsonResponse(200, found);
  };
}
