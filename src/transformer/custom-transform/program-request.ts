import type { Span } from "../../event/text/scratch.ts";
import type { ProgramRequest } from "../programs.ts";
import { textOf } from "../requests.ts";
import type { ItemGroup } from "./request-items.ts";

/**
 * Returns which program the items of a group ask for: the versions of the transformation and of
 * libraries, and the credentials. Missing or invalid members are left out; without a version of the
 * transformation, `versionId` is empty.
 */
export function programRequest(body: Buffer, group: ItemGroup): ProgramRequest {
  const destination = jsonAt(body, group.destination);
  const transformations = memberOf(destination, "Transformations");
  const [first] = Array.isArray(transformations) ? transformations : [];
  return {
    workspaceId: group.workspaceId,
    versionId: textOf(memberOf(first, "VersionID")),
    libraryVersionIds: libraryVersions(jsonAt(body, group.libraries)),
    credentials: credentialsOf(jsonAt(body, group.credentials)),
  };
}

function libraryVersions(libraries: unknown): string[] {
  if (!Array.isArray(libraries)) return [];
  return libraries.map((it) => textOf(memberOf(it, "VersionID"))).filter((it) => it !== "");
}

/**
 * Converts a list of objects with `key` and `value` to credentials by name. Leaves out objects
 * whose `key` or `value` is not a string. If a name is repeated, its last value counts.
 */
export function credentialsOf(list: unknown): Record<string, string> {
  if (!Array.isArray(list)) return {};
  const pairs = list.map((it) => [memberOf(it, "key"), memberOf(it, "value")] as const);
  return Object.fromEntries(
    pairs.filter((it): it is [string, string] => it.every((text) => typeof text === "string")),
  );
}

function jsonAt(body: Buffer, span: Span | undefined): unknown {
  return span && JSON.parse(body.toString("utf8", span.start, span.end));
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
