import camelCase from "lodash/camelCase.js";
import type { Language } from "./model.ts";

/** Import names: the names by which user code imports libraries. The functions are pure. */

/**
 * Language family: languages that can import the same libraries. The languages `python` and
 * `pythonfaas` are one family.
 */
export type Family = "javascript" | "python";

export function familyOf(language: Language): Family {
  return language === "javascript" ? "javascript" : "python";
}

/**
 * Returns a library's import name in camel case: `Get Cube` → `getCube`. Empty when the library's
 * name has no letter or digit.
 */
export function importNameOf(libraryName: string): string {
  return camelCase(libraryName);
}

/**
 * Whether a library can have this import name. Callers must check this before they search the
 * store, because the store rejects keys above 1,978 bytes and a name in Python code may be a
 * megabyte long.
 */
export function isImportName(name: string): boolean {
  return name.length > 0 && name.length <= IMPORT_NAME_CHARS_MAX && !control.test(name);
}

/** Whether a Python import statement can name a module with this name. */
export function isPythonModuleName(name: string): boolean {
  return identifier.test(name) && !pythonKeywords.has(name);
}

/**
 * Maximum length of an import name. A library's name has up to 255 characters, and camel case at
 * most doubles them (`ß` → `ss`).
 */
const IMPORT_NAME_CHARS_MAX = 600;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const control = /[\u0000-\u001f]/;
const identifier = /^[\p{XID_Start}_]\p{XID_Continue}*$/u;
const pythonKeywords = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except " +
    "finally for from global if import in is lambda nonlocal not or pass raise return try while " +
    "with yield"
  ).split(" "),
);
