import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { codeOf, messageOf, StartError } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import { builtInDestinations, builtInSources } from "./built-in-definitions.ts";
import {
  type DefinitionConfig,
  Definitions,
  type DestinationDefinition,
  type SourceDefinition,
  typeKey,
} from "./definition.ts";
import { DEFINITION_BYTES_MAX, DEFINITIONS_MAX } from "./limits.ts";

/** Folder of the definitions in a checkout of RudderStack's rudder-integrations-config. */
const CONFIGURATIONS = join("src", "configurations");
const FILE = "db-config.json";

type Json = Record<string, unknown>;

/**
 * Reads the definitions in a directory with the layout of RudderStack's public
 * rudder-integrations-config, such as `src/configurations/destinations/webhook/db-config.json`.
 * Without a directory, returns the built-in ones. Throws `StartError` for a file that cannot be
 * used.
 */
export function readDefinitions(directory: string | undefined): Definitions {
  if (directory === undefined) return new Definitions(builtInDestinations, builtInSources);
  const root = join(directory, CONFIGURATIONS);
  const destinations = readAll(join(root, "destinations"), readDestination);
  const sources = readAll(join(root, "sources"), readSource);
  return new Definitions(destinations, sources.length === 0 ? builtInSources : sources);
}

/**
 * Reads the definitions in `folder`: each is in a subfolder of its own. Skips subfolders without a
 * definition. Throws `StartError` if two definitions have the same name.
 */
function readAll<T extends { name: string }>(
  folder: string,
  read: (file: DefinitionFile) => T,
): T[] {
  const names = listed(folder).sort();
  if (names.length > DEFINITIONS_MAX) {
    throw new StartError(`Expected at most ${DEFINITIONS_MAX} definitions in ${folder}, got more`);
  }
  const known = new Map<string, string>();
  return names.flatMap((name) => {
    const path = join(folder, name, FILE);
    const text = textOf(path);
    if (text === undefined) return [];
    const made = read(new DefinitionFile(path, text));
    const other = known.get(typeKey(made.name));
    if (other !== undefined) {
      throw new StartError(`Expected one definition of ${made.name}, got ${other} and ${path}`);
    }
    known.set(typeKey(made.name), path);
    return [made];
  });
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw new StartError(
      `Cannot read the definitions of RudderStack in ${folder}: ${codeOf(error) || messageOf(error)}`,
    );
  }
}

/** Returns the text of a file; undefined when there is none. */
function textOf(path: string): string | undefined {
  try {
    const { size } = statSync(path);
    if (size > DEFINITION_BYTES_MAX) {
      throw new StartError(`Expected at most ${DEFINITION_BYTES_MAX} bytes in ${path}, got more`);
    }
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return undefined;
    if (error instanceof StartError) throw error;
    throw new StartError(`Cannot read ${path}: ${codeOf(error) || messageOf(error)}`);
  }
}

function readDestination(file: DefinitionFile): DestinationDefinition {
  const config = file.object("config", true);
  const { secretKeys = [], destConfig = {} } = config;
  if (!isTexts(secretKeys)) throw file.fault("config.secretKeys to be a list of texts");
  if (!isObject(destConfig) || !Object.values(destConfig).every(isTexts)) {
    throw file.fault("config.destConfig to be an object of lists of texts");
  }
  const name = file.text("name");
  return {
    name,
    displayName: file.text("displayName", name),
    category: file.text("category", "") || null,
    config: config as DefinitionConfig,
    defaults: readDefaults(join(file.path, "..", "schema.json")),
  };
}

function readSource(file: DefinitionFile): SourceDefinition {
  return {
    name: file.text("name"),
    type: file.text("type", "cloud"),
    category: file.text("category", "") || null,
  };
}

/** Returns the settings' default values, from the JSON schema in the file `path`. */
function readDefaults(path: string): Json {
  const text = textOf(path);
  if (text === undefined) return {};
  const schema = new DefinitionFile(path, text).object("configSchema", false);
  const { properties } = schema;
  if (!isObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([key, property]) =>
      isObject(property) && "default" in property ? [[key, property.default]] : [],
    ),
  );
}

/**
 * A JSON file with a definition, or with the JSON schema of a definition's settings. The message of
 * each error that a method throws contains the path of the file.
 */
class DefinitionFile {
  readonly path: string;
  readonly #content: Json;

  constructor(path: string, text: string) {
    this.path = path;
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch (error) {
      throw new StartError(`Expected JSON in ${path}: ${messageOf(error)}`);
    }
    if (!isObject(content)) throw this.fault("a JSON object");
    this.#content = content;
  }

  fault(expected: string): StartError {
    return new StartError(`Expected ${expected} in ${this.path}, got something else`);
  }

  /**
   * Returns the string under `key`, or `otherwise` if the key is absent or null. Throws
   * `StartError` if the value is not a string. Without `otherwise`, also throws if it is absent,
   * null or empty.
   */
  text(key: string, otherwise?: string): string {
    const value = this.#content[key] ?? otherwise;
    if (typeof value !== "string" || (value === "" && otherwise === undefined)) {
      throw this.fault(`${key} to be a text`);
    }
    return value;
  }

  /**
   * Returns the object under `key`. If the key is absent or null, returns `{}`, or throws
   * `StartError` if `isNeeded` is true. Throws `StartError` for any other value.
   */
  object(key: string, isNeeded: boolean): Json {
    const value = this.#content[key] ?? (isNeeded ? undefined : {});
    if (!isObject(value)) throw this.fault(`${key} to be an object`);
    return value;
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((it) => typeof it === "string");
}
