import { parse } from "es-module-lexer/minimal/js";
import type { GuestLanguage } from "../../sandbox/program.ts";

/** Type that the lexer es-module-lexer gives to a static import (`import … from`). */
const STATIC = 1;

/**
 * Returns the names that code imports from each of `modules`, which the language's own parser has
 * found in the code. The list of names is empty for Python, and for an import of a whole module.
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
 * Matches a comment in JavaScript. An unterminated comment matches up to the end of the text, which
 * keeps the time of a search linear.
 */
const COMMENT = /\/\*(?:[\s\S]*?\*\/|[\s\S]*)|\/\/.*/g;

/**
 * Returns the names that an import statement imports. `statement` is the part of it before the
 * module's name. For example, `import a, { b as c } from ` imports a and b.
 */
function namesIn(statement: string): string[] {
  const clause = statement.slice("import".length).replace(COMMENT, " ");
  const brace = clause.indexOf("{");
  const before = brace < 0 ? clause : clause.slice(0, brace);
  const inBraces = brace < 0 ? "" : clause.slice(brace + 1, clause.indexOf("}"));
  const names = [...before.split(","), ...inBraces.split(",")].map(firstWord);
  return names.filter((name) => name !== "" && !name.startsWith("*"));
}

function firstWord(text: string): string {
  return text.trim().replace(/\s[\s\S]*/, "");
}
