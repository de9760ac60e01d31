import { Type } from "@sinclair/typebox";
import type { CodeKind } from "../../../catalog/model.ts";
import { ApiError } from "../../../errors.ts";
import {
  codeAnswer,
  rudderstackLibraryAnswer,
  StoredCode,
} from "../../../publishing/data-plane-code.ts";
import { text } from "../../../settings/schema-types.ts";
import type { RequestContext } from "../../route.ts";
import { route } from "../../route.ts";
import { ids } from "../../schema/examples.ts";
import { readsAllWorkspaces } from "./workspace-config.ts";

/**
 * This file defines the routes from which rudder-transformer fetches user code. rudder-transformer
 * caches the code. It drops events if it gets an error other than 401, 403 and 503.
 */

const createdAt = "2026-02-16T01:11:11.586Z";
const example = {
  versionId: ids.transformationVersion,
  workspaceId: ids.workspace,
  description: "",
  codeVersion: "1" as const,
  language: "javascript",
  imports: [],
  createdAt,
  updatedAt: createdAt,
};
const transformation = {
  ...example,
  id: ids.transformation,
  name: "Seen",
  code: "export function transformEvent(event) { event.seen = true; return event; }",
};
const library = {
  ...example,
  id: ids.library,
  versionId: ids.libraryVersion,
  name: "Double",
  code: "export const double = (n) => 2 * n;",
  importName: "double",
  handleName: "double",
};

const shared = {
  needs: ["workspace-config:read"],
  opensWith: "opensCode",
  query: {
    versionId: Type.Optional(text("Published now, or once")),
  },
  answer: StoredCode,
} as const;

export const publishedCodeRoutes = [
  route("GET /transformation/getByVersionId", {
    ...shared,
    summary: "Get a version of a transformation for rudder-transformer",
    example: { query: `versionId=${ids.transformationVersion}`, answer: transformation },
    handle: (call) => publishedCode(call, "transformation"),
  }),

  route("GET /transformationLibrary/getByVersionId", {
    ...shared,
    summary: "Get a version of a library for rudder-transformer",
    example: { query: `versionId=${ids.libraryVersion}`, answer: library },
    handle: (call) => publishedCode(call, "library"),
  }),

  route("GET /rudderstackTransformationLibraries/{name}", {
    summary: "Get a library with RudderStack's name for rudder-transformer",
    needs: ["workspace-config:read"],
    opensWith: "opensCode",
    query: { version: Type.Optional(text("v1")) },
    answer: Type.Object({ name: Type.String(), importName: Type.String(), code: Type.String() }),
    example: {
      params: { name: "hash" },
      query: "version=v1",
      answer: { name: "hash", importName: "@rs/hash/v1", code: "…" },
    },
    handle({ params: { name }, query: { version } }) {
      const found = rudderstackLibraryAnswer(name, version);
      if (found === undefined) throw new ApiError("missing", "Library not found");
      return found;
    },
  }),
] as const;

/**
 * Returns the revision whose versionId is in the query. Throws `missing` if there is none, or if
 * the caller must not read it. A request without a token (setting `rudderstack.code.open`) may read
 * the code of all workspaces.
 */
function publishedCode(
  { deps, workspaceId, query }: RequestContext<string, { versionId?: string }, unknown>,
  kind: CodeKind,
) {
  const found = codeAnswer(deps.catalog, kind, query.versionId ?? "");
  const isOwn = workspaceId === "" || found?.workspaceId === workspaceId;
  if (found !== undefined && (isOwn || readsAllWorkspaces(deps, workspaceId))) return found;
  const noun = kind === "library" ? "Library" : "Transformation";
  throw new ApiError("missing", `${noun} not found`);
}
