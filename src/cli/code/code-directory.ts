import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf, orStartError, StartError, systemReason } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import {
  type CaseContent,
  type CodeContent,
  caseText,
  compareTexts,
  extensions,
  fileNameOf,
  folders,
  metadataText,
  sortedTests,
} from "./code-item.ts";

/**
 * A directory of transformations and libraries, for example in a git repository:
 *
 * transformations/shout-titles/transformation.json   name and description
 * transformations/shout-titles/code.js                or code.py
 * transformations/shout-titles/tests/a-title.json     a test case
 * libraries/text-tools/library.json
 * libraries/text-tools/code.js
 */

/** A transformation or library in a directory, with its path below the directory's root. */
export interface LocalCode {
  path: string;
  content: CodeContent;
}

/**
 * Reads all code of a directory. Throws `StartError` if some of the code is invalid, or if two
 * items of one kind have the same name.
 */
export function readCodeDirectory(root: string): LocalCode[] {
  const found = (["library", "transformation"] as const).flatMap((kind) =>
    entriesOf(join(root, folders[kind]))
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
      .map(({ name }) => ({
        path: `${folders[kind]}/${name}`,
        content: readCode(join(root, folders[kind], name), kind),
      })),
  );
  const places = new Map<string, string>();
  for (const { path, content } of found) {
    const key = `${content.kind} ${content.name}`;
    const other = places.get(key);
    if (other !== undefined) throw new StartError(`${other} and ${path} have the same name`);
    places.set(key, path);
  }
  return found;
}

/** Reads one transformation or library. Throws `StartError` if a file is missing or invalid. */
function readCode(directory: string, kind: CodeContent["kind"]): CodeContent {
  const file = join(directory, `${kind}.json`);
  const { name, description = "", ...rest } = readJson(file);
  expectNone(file, rest);
  expectThat(typeof name === "string" && name.trim() === name && name !== "", file, "name", "text");
  expectThat(typeof description === "string", file, "description", "text");
  const languages = (["javascript", "python"] as const).filter((it) =>
    entriesOf(directory).some((entry) => entry.name === `code.${extensions[it]}`),
  );
  const [language, second] = languages;
  if (language === undefined || second !== undefined) {
    throw new StartError(`Expected either code.js or code.py in ${directory}`);
  }
  return {
    kind,
    name: name as string,
    description: description as string,
    language,
    code: readText(join(directory, `code.${extensions[language]}`)),
    tests: kind === "library" ? [] : readTests(join(directory, "tests")),
  };
}

/** Reads the test cases in a folder. Returns none when the folder does not exist. */
export function readTests(directory: string): CaseContent[] {
  const files = entriesOf(directory).filter(({ name }) => name.endsWith(".json"));
  return sortedTests(files.map(({ name }) => readTestCase(join(directory, name))));
}

function readTestCase(file: string): CaseContent {
  const { name, description, input, expectedOutput, ...rest } = readJson(file);
  expectNone(file, rest);
  expectThat(typeof name === "string" && name !== "", file, "name", "text");
  expectThat(description === undefined || typeof description === "string", file, "description");
  expectThat(isEvents(input), file, "input", "list of events");
  const isExpected = expectedOutput === undefined || isEvents(expectedOutput);
  expectThat(isExpected, file, "expectedOutput", "list of events");
  return { name, description, input, expectedOutput } as CaseContent;
}

/**
 * Writes code and test cases into the folder of their transformation or library. Removes from this
 * folder all files of code or test cases that do not belong to `content`.
 */
export function writeCode(root: string, { path, content }: LocalCode): void {
  const directory = join(root, path);
  const tests = join(directory, "tests");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${content.kind}.json`), metadataText(content));
  for (const [language, extension] of Object.entries(extensions)) {
    const file = join(directory, `code.${extension}`);
    if (language === content.language) writeFileSync(file, content.code);
    else rmSync(file, { force: true });
  }
  if (content.kind === "library") return;
  const names = new Map<string, CaseContent>();
  for (const it of content.tests) names.set(fileNameOf(it.name, new Set(names.keys())), it);
  const kept = new Set([...names.keys()].map((name) => `${name}.json`));
  for (const { name } of entriesOf(tests)) {
    if (name.endsWith(".json") && !kept.has(name)) rmSync(join(tests, name));
  }
  for (const [name, it] of names) {
    mkdirSync(tests, { recursive: true });
    writeFileSync(join(tests, `${name}.json`), caseText(it));
  }
}

/**
 * Returns the root of the directory of code that contains a path: the nearest directory, from the
 * path upwards, with a folder `transformations` or `libraries`. Returns `undefined` when there is
 * none.
 */
export function rootAbove(path: string): string | undefined {
  const directory = resolve(path);
  const names = entriesOf(directory)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  if (Object.values(folders).some((folder) => names.includes(folder))) return directory;
  if (Object.values(folders).includes(basename(directory) as "libraries")) {
    return dirname(directory);
  }
  return dirname(directory) === directory ? undefined : rootAbove(dirname(directory));
}

export function readText(file: string): string {
  return orStartError(`Cannot read ${file}`, () => readFileSync(file, "utf8"));
}

function entriesOf(directory: string) {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.sort((one, other) => compareTexts(one.name, other.name));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(codeOf(error))) return [];
    throw new StartError(`Cannot read ${directory}: ${systemReason(error)}`);
  }
}

function readJson(file: string): Record<string, unknown> {
  const value: unknown = orStartError(`Cannot read ${file}`, () =>
    JSON.parse(readFileSync(file, "utf8")),
  );
  if (!isObject(value)) throw new StartError(`Expected a JSON object in ${file}`);
  return value;
}

const isEvents = (value: unknown) => Array.isArray(value) && value.every(isObject);

function expectThat(fits: boolean, file: string, key: string, type = "text"): void {
  if (!fits) throw new StartError(`Expected a ${type} for ${key} in ${file}`);
}

function expectNone(file: string, rest: Record<string, unknown>): void {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new StartError(`Unknown key ${unknown} in ${file}`);
}
