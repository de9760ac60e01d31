import { parse } from "es-module-lexer/minimal/js";
import { familyOf } from "../import-name.ts";
import type { Language } from "../model.ts";

/**
 * Maximum number of imported names that are stored with one revision; further names are left out.
 * Code of 1 MiB could import 95,000 names.
 */
const IMPORTS_MAX = 1_000;
const IMPORT_CHARS_MAX = 255;

/** Value of the field `t` by which the import lexer (es-module-lexer) marks a static import. */
const STATIC = 1;

/**
 * Returns the names that code imports, in the order of first occurrence, each once, at most
 * `IMPORTS_MAX`. The code may be a draft with errors, so it is not compiled, and names may be
 * missing.
 */
export function importsOf(language: Language, code: string): string[] {
  const names = familyOf(language) === "python" ? pythonImports(code) : javascriptImports(code);
  const kept = new Set<string>();
  for (const name of names) {
    if (kept.size === IMPORTS_MAX) break;
    if (name.length <= IMPORT_CHARS_MAX) kept.add(name);
  }
  return [...kept];
}

function javascriptImports(code: string): string[] {
  try {
    const [imports] = parse(code);
    return imports.flatMap(({ t, n }) => (t === STATIC && n !== undefined ? [n] : []));
  } catch {
    // The code is a draft that does not parse.
    return [];
  }
}

/**
 * Matches strings and comments of Python, which may contain words that look like imports. A string
 * without end quotes matches too, because the search would otherwise take more than linear time.
 */
const texts = /("""|''')[\s\S]*?(?:\1|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|#[^\n]*/g;
const statement = /^[ \t]*(?:import[ \t]+([^\n;]+)|from[ \t]+([^\s;]+)[ \t]+import\b)/;
const moduleName = /^[\p{L}_][\p{L}\p{N}_.]*$/u;

function* pythonImports(code: string): Generator<string> {
  for (const line of code.replace(texts, "").split(/[\n;]/)) {
    const [, names, from] = statement.exec(line) ?? [];
    const named = from === undefined ? (names?.split(",") ?? []) : [from];
    for (const name of named) {
      const [module = ""] = name.trim().split(/\s/, 1);
      if (moduleName.test(module)) yield module;
    }
  }
}
