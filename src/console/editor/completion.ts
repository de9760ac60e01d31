import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { metadataFunction, metadataKeys, providedFunctions } from "../texts/user-code-functions.ts";

/** Data that code completion uses besides the edited code. */
export interface CompletionData {
  language: "javascript" | "python";
  /** Events whose fields code completion offers. */
  events: readonly unknown[];
  /** Names of the workspace's credentials, offered to complete arguments of `getCredential`. */
  credentials: readonly string[];
  libraries: readonly { importName: string; exports: readonly string[] }[];
}

/**
 * Matches a path to a field at the end of the text before the cursor, such as `event.properties.na`
 * or `event["properties"]["na`. The last name in the path may be incomplete.
 */
const PATH =
  /([A-Za-z_$][\w$]*|\bmetadata\([^()]*\))((?:\??\.[A-Za-z_$][\w$]*|\??\.?\[\s*(?:"[^"]*"|'[^']*'|\d+)\s*\]|\.get\(\s*(?:"[^"]*"|'[^']*')\s*(?:,[^()]*)?\))*)(\??\.|\??\.?\[\s*["']|\.get\(\s*["'])([\w$ -]*)$/;
const STEP =
  /\[\s*(?:"([^"]*)"|'([^']*)'|(\d+))\s*\]|\.get\(\s*(?:"([^"]*)"|'([^']*)')|\.([\w$]+)/g;
const FIELDS_MAX = 500;
/**
 * Maximum number of characters before the cursor that the regular expressions search. Their running
 * time is quadratic in this number.
 */
const BEFORE_CHARS_MAX = 500;

/** The edited code, the cursor's position in it, and other data that code completion uses. */
interface CompletionInput {
  code: string;
  line: string;
  /** Text from the line's start to the cursor, at most the last `BEFORE_CHARS_MAX` characters. */
  before: string;
  pos: number;
  data: CompletionData;
}

/**
 * Creates a CodeMirror completion source. It offers fields of events and metadata, global
 * functions, credentials, libraries and their exports.
 */
export function completionSource(data: () => CompletionData) {
  return (context: CompletionContext): CompletionResult | null => {
    const { state, pos } = context;
    const { text: line, from } = state.doc.lineAt(pos);
    const before = line.slice(0, pos - from).slice(-BEFORE_CHARS_MAX);
    const input = { code: state.doc.toString(), line, before, pos, data: data() };
    return (
      completeQuotedName(input) ??
      completeExport(input) ??
      completeField(input) ??
      (context.explicit || /[\w$]$/.test(before) ? completeGlobal(input) : null)
    );
  };
}

/**
 * Offers names of credentials after `getCredential("`, and names of libraries after `from "` or, in
 * Python, after `from` or `import`.
 */
function completeQuotedName({ before, pos, data }: CompletionInput): CompletionResult | null {
  const credential = /\bgetCredential\(\s*["']([\w]*)$/.exec(before);
  if (credential) return completionResult(pos, credential[1]!, data.credentials, "credential");
  const library =
    data.language === "python"
      ? /^\s*(?:import|from)\s+(\w*)$/.exec(before)
      : /\b(?:from|import)\s*["'](\w*)$/.exec(before);
  if (!library) return null;
  const names = data.libraries.map(({ importName }) => importName);
  return completionResult(pos, library[1]!, names, "library");
}

/**
 * Offers exports of libraries. Inside `import { … }`, these are the exports of the library after
 * `from` on the same line or, without `from`, of all libraries. In Python, also completes `lib.` if
 * `lib` is imported.
 */
function completeExport(input: CompletionInput): CompletionResult | null {
  const { code, line, before, pos, data } = input;
  const named = /\bimport\s*\{[^}]*?([\w$]*)$/.exec(before);
  const [, from] = /\bfrom\s*["'](\w+)["']/.exec(line) ?? [];
  if (named) {
    const imported = data.libraries.filter(({ importName }) => !from || importName === from);
    const names = imported.flatMap((it) => it.exports);
    // Only exports are valid here. An empty result suppresses the other completions.
    return completionResult(pos, named[1]!, names, "export") ?? { from: pos, options: [] };
  }
  const member = /\b(\w+)\.(\w*)$/.exec(before);
  if (!member || data.language !== "python") return null;
  const library = data.libraries.find(({ importName }) => importName === member[1]);
  if (!library || !new RegExp(`\\bimport\\b.*\\b${library.importName}\\b`).test(code)) return null;
  return completionResult(pos, member[2]!, library.exports, "export");
}

function completeField({ code, before, pos, data }: CompletionInput): CompletionResult | null {
  const [, root = "", path = "", , typed = ""] = PATH.exec(before) ?? [];
  if (root === "") return null;
  if (root.startsWith("metadata(")) {
    return path === "" ? completionResult(pos, typed, metadataKeys, "metadata") : null;
  }
  if (!isEvent(root, code)) return null;
  const steps = [...path.matchAll(STEP)].map(
    (it) => it.slice(1).find((name) => name !== undefined)!,
  );
  const options = new Map<string, Completion>();
  for (const event of data.events) {
    for (const [key, value] of Object.entries(valueAt(event, steps) ?? {})) {
      if (options.size >= FIELDS_MAX || options.has(key)) continue;
      options.set(key, { label: key, type: "property", detail: sampleText(value) });
    }
  }
  if (options.size === 0) return null;
  return { from: pos - typed.length, options: [...options.values()], validFor: /^[\w$ -]*$/ };
}

/**
 * Whether the variable `root` holds the event: its name is `event`, or it is the first parameter of
 * `transformEvent`.
 */
function isEvent(root: string, code: string): boolean {
  if (root === "event") return true;
  const [, parameter] =
    /\btransformEvent\s*(?:=\s*(?:async\s*)?)?\(?\s*\(?\s*(\w+)/.exec(code) ?? [];
  return root === parameter;
}

function valueAt(event: unknown, steps: readonly string[]): object | undefined {
  let value = event;
  for (const step of steps) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

const SAMPLE_CHARS = 30;

function sampleText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > SAMPLE_CHARS ? `${text.slice(0, SAMPLE_CHARS - 1)}…` : text;
}

function globalNames(language: CompletionData["language"]): string[] {
  const functions = [metadataFunction, ...providedFunctions];
  return functions.filter((it) => it.signatures[language] !== undefined).map(({ name }) => name);
}

function completeGlobal({ before, pos, data }: CompletionInput): CompletionResult | null {
  const [, typed = ""] = /(?:^|[^\w$.])([\w$]*)$/.exec(before) ?? [];
  if (/[.\w$]$/.test(before) && typed === "") return null;
  return completionResult(pos, typed, [...globalNames(data.language), "event"], "provided");
}

function completionResult(
  pos: number,
  typed: string,
  names: readonly string[],
  detail: string,
): CompletionResult | null {
  if (names.length === 0) return null;
  const options = [...new Set(names)].map((label) => ({ label, detail, type: "variable" }));
  return { from: pos - typed.length, options, validFor: /^[\w$]*$/ };
}

/**
 * Returns the names that a library exports. It searches with regular expressions, so it misses
 * exports in unusual notation.
 */
export function exportsOf(code: string, language: CompletionData["language"]): string[] {
  if (language === "python") {
    return [
      ...code.matchAll(/^(?:async\s+)?(?:def|class)\s+([A-Za-z]\w*)|^([A-Za-z]\w*)\s*=/gm),
    ].map(([, defined, assigned]) => (defined ?? assigned)!);
  }
  const single = code.matchAll(
    /^\s*export\s+(?:async\s+)?(?:function\*?|class|const|let|var)\s+([\w$]+)/gm,
  );
  // An export such as `one as other` has the last of its names.
  const lists = [...code.matchAll(/^\s*export\s*\{([^}]*)\}/gm)].flatMap(([, names = ""]) =>
    names.split(",").map((name) => name.trim().replace(/^.*\s+as\s+/s, "")),
  );
  return [...[...single].map(([, name]) => name!), ...lists].filter((name) =>
    /^[\w$]+$/.test(name),
  );
}
