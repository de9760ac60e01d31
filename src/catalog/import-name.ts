import camelCase from "lodash/camelCase.js";
import type { Language } from "./model.ts";

/** Import names: the names by which code imports libraries. Pure. */

/** Languages that share libraries: `python` and `pythonfaas` are one family. */
export type Family = "javascript" | "python";

export function familyOf(language: Language): Family {
  return language === "javascript" ? "javascript" : "python";
}

/** `Get Cube` → `getCube`; empty when the name holds no letter or digit. */
export function importNameOf(libraryName: string): string {
  return camelCase(libraryName);
}

/**
 * Whether a library can have this name. A name that no library can have is never looked up, for it
 * may be a megabyte of Python identifier: keys of the store end at 1,978 bytes, and a UTF-16 unit
 * takes up to 3.
 */
export function isImportName(name: string): boolean {
  return name.length > 0 && name.length <= IMPORT_NAME_CHARS_MAX && !control.test(name);
}

/** Whether Python can import a module of this name. */
export function isPythonModuleName(name: string): boolean {
  return identifier.test(name) && !pythonKeywords.has(name);
}

/**
 * Longest import name: a library's name has 255 characters, and camel case at most doubles them
 * (`ß` → `ss`).
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
