import { parse } from "es-module-lexer/minimal/js";
import type { GuestLanguage } from "../../sandbox/program.ts";

/** Value with which the import lexer (es-module-lexer) marks a static import. */
const STATIC = 1;

/**
 * Returns the modules that code imports, each with a list of the names that it imports from the
 * module. The list is empty in Python, and when the code imports the whole module. `modules` are
 * the modules that the language's own parser found.
 */
export function importedNames(
  language: GuestLanguage,
  code: string,
  modules: readonly string[],
): Record<string, string[]> {
  const names = new Map<string, string[]>(modules.map((module) => [module, []]));
  if (language === "javascript") {
    for (const { t, n, ss, s } of parse(code)[0]) {
      if (t === STATIC && n !== undefined) names.get(n)?.push(...namesIn(code.slice(ss, s - 1)));
    }
  }
  return Object.fromEntries(names);
}

/**
 * Matches a comment. A comment without an end extends to the end of the text, so that a search
 * takes linear time.
 */
const COMMENT = /\/\*(?:[\s\S]*?\*\/|[\s\S]*)|\/\/.*/g;

/**
 * Returns the imported names in the part of an import statement before the module. For example,
 * `import a, { b as c } from ` imports a and b.
 */
function namesIn(statement: string): string[] {
  const clause = statement.slice("import".length).replace(COMMENT, " ");
  const brace = clause.indexOf("{");
  const before = brace < 0 ? clause : clause.slice(0, brace);
  const inBraces = brace < 0 ? "" : clause.slice(brace + 1, clause.indexOf("}"));
  const names = [before.split(",", 1)[0] ?? "", ...inBraces.split(",")].map(firstWord);
  return names.filter((name) => name !== "" && !name.startsWith("*"));
}

function firstWord(text: string): string {
  return text.trim().split(/\s/, 1)[0] ?? "";
}
