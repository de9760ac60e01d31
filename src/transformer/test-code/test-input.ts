import { isObject } from "../../is-object.ts";
import type { GuestLanguage } from "../../sandbox/program.ts";
import { credentialsOf } from "../custom-transform/program-request.ts";
import { objectsIn, RequestFault, textOf } from "../requests.ts";

/** Code from a request, which is not stored in the catalog, with the events to test it on. */
export type UnstoredTest = ReturnType<typeof testInput>;

/**
 * Name in error traces for code that has no name. It is the same as in RudderStack's transformer.
 */
const NAMELESS = "base transformation";

/**
 * Reads the body of a request to `/transformation/test`. Throws `RequestFault` if a part of it is
 * missing or unusable.
 */
export function testInput(body: Record<string, unknown>) {
  const ids: unknown[] = Array.isArray(body.libraryVersionIDs) ? body.libraryVersionIDs : [];
  return {
    ...codeIn(body.trRevCode),
    events: itemsIn(body.events),
    libraryVersionIds: ids.map(textOf),
    credentials: credentialsOf(body.credentials),
  };
}

/**
 * Reads the body of a request to `/transformation/testRun`. Throws `RequestFault` if a part of it
 * is missing or unusable.
 */
export function testRunInput(body: Record<string, unknown>): UnstoredTest {
  const dependencies = isObject(body.dependencies) ? body.dependencies : {};
  return {
    ...codeIn(body.codeRevision),
    events: itemsIn(body.input),
    libraryVersionIds: objectsIn(dependencies.libraries).map((it) => textOf(it.versionId)),
    credentials: credentialsOf(dependencies.credentials),
  };
}

function codeIn(revision: unknown) {
  const { code, language, codeVersion = "1", name } = isObject(revision) ? revision : {};
  if (textOf(code) === "" || textOf(language) === "") {
    throw new RequestFault(
      "Error: Invalid Request. Missing parameters in transformation code block",
    );
  }
  if (String(codeVersion) !== "1") {
    throw new RequestFault("Error: Expected the codeVersion 1, which exports its functions");
  }
  return {
    name: textOf(name) || NAMELESS,
    code: textOf(code),
    language: languageOf(textOf(language)),
  };
}

/**
 * Returns the language that RudderStack calls `name`. Throws `RequestFault` if there is no such
 * language.
 */
export function languageOf(name: string): GuestLanguage {
  if (name.startsWith("python")) return "python";
  if (name === "javascript") return "javascript";
  throw new RequestFault("Error: Expected the language javascript, python or pythonfaas");
}

function itemsIn(events: unknown) {
  const items = objectsIn(events);
  if (items.length === 0) throw new RequestFault("Error: Invalid request. Missing events");
  return items.map(({ message, metadata }) => {
    if (!isObject(message)) throw new RequestFault("Error: Expected events with an object message");
    return { message, metadata: isObject(metadata) ? metadata : {} };
  });
}
