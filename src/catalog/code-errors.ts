import { ApiError } from "../errors.ts";
import type { CodeKind } from "./model.ts";

/**
 * Error of a publication whose tests are outdated, because related code was published or deleted
 * between the tests and the commit. The server repeats the tests, and fails the request with this
 * error after `PUBLISH_ATTEMPTS_MAX` attempts.
 */
export class PublicationConflict extends ApiError {
  readonly stale = true;

  constructor() {
    super("conflict", "Published code changed while this was tested; send the request again");
  }
}

/**
 * Thrown when a change of code is based on a revision (version of the code) that is not the newest,
 * because another one was stored meanwhile.
 */
export class RevisionConflict extends ApiError {
  readonly overtaken = true;

  constructor() {
    super("conflict", "Another revision was made at the same time; send the request again");
  }
}

export function notFound(kind: CodeKind): ApiError {
  return new ApiError("missing", `${nouns[kind]} not found`);
}

/** Creates the error for a transformation or library that exists and is not published. */
export function notPublished(kind: CodeKind): ApiError {
  const hint = "draft=true in the query asks for its newest revision";
  return new ApiError("missing", `${nouns[kind]} is not published: ${hint}`);
}

export function versionNotFound(kind: CodeKind): ApiError {
  return new ApiError("missing", `${nouns[kind]} version not found`);
}

export function importNameTaken(): ApiError {
  return new ApiError("conflict", "Another library of this language has the same import name");
}

const nouns: Record<CodeKind, string> = { transformation: "Transformation", library: "Library" };
