import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** What is known beside the code, for completion. */
export interface CompletionData {
  language: "javascript" | "python";
  /** Events as code gets them. */
  events: readonly unknown[];
  /** Names of the workspace's credentials. */
  credentials: readonly string[];
  libraries: readonly { importName: string; exports: readonly string[] }[];
}

/** What `metadata(event)` answers. */
export const metadataKeys = [
  "sourceId",
  "sourceName",
  "sourceType",
  "workspaceId",
  "destinationId",
  "destinationName",
  "destinationType",
  "messageId",
  "rudderId",
  "receivedAt",
  "eventName",
  "eventType",
  "transformationId",
  "transformationVersionId",
] as const;

/** `event.properties.` and `event["properties"]["`, up to what is being typed. */
const PATH =
  /([A-Za-z_$][\w$]*|\bmetadata\([^()]*\))((?:\??\.[A-Za-z_$][\w$]*|\??\.?\[\s*(?:"[^"]*"|'[^']*'|\d+)\s*\]|\.get\(\s*(?:"[^"]*"|'[^']*')\s*(?:,[^()]*)?\))*)(\??\.|\??\.?\[\s*["']|\.get\(\s*["'])([\w$ -]*)$/;
const STEP =
  /\[\s*(?:"([^"]*)"|'([^']*)'|(\d+))\s*\]|\.get\(\s*(?:"([^"]*)"|'([^']*)')|\.([\w$]+)/g;
const FIELDS_MAX = 500;
/** Of a line, before the cursor: what patterns try grows with the square of it. */
const BEFORE_CHARS_MAX = 500;

/** Completes fields of events and metadata, credentials, libraries and what they export. */
export function completionSource(known: () => CompletionData) {
  return (context: CompletionContext): CompletionResult | null => {
    const { state, pos } = context;
    const line = state.doc.lineAt(pos);
    const before = line.text.slice(0, pos - line.from).slice(-BEFORE_CHARS_MAX);
    const now = known();
    return (
      completeQuotedName(before, pos, now) ??
      completeExport(state.doc.toString(), line.text, before, pos, now) ??
      completeField(state.doc.toString(), before, pos, now) ??
      (context.explicit || /[\w$]$/.test(before) ? completeGlobal(before, pos, now) : null)
    );
  };
}

/** Inside `getCredential("` and `from "`. */
function completeQuotedName(
  before: string,
  pos: number,
  known: CompletionData,
): CompletionResult | null {
  const credential = /\bgetCredential\(\s*["']([\w]*)$/.exec(before);
  if (credential) return completionResult(pos, credential[1]!, known.credentials, "credential");
  const library =
    known.language === "python"
      ? /^\s*(?:import|from)\s+(\w*)$/.exec(before)
      : /\b(?:from|import)\s*["'](\w*)$/.exec(before);
  if (!library) return null;
  const names = known.libraries.map(({ importName }) => importName);
  return completionResult(pos, library[1]!, names, "library");
}

/** Inside `import { … } from "lib"`, and behind `lib.` of Python. */
function completeExport(
  code: string,
  line: string,
  before: string,
  pos: number,
  known: CompletionData,
): CompletionResult | null {
  const named = /\bimport\s*\{[^}]*?([\w$]*)$/.exec(before);
  const [, from] = /\bfrom\s*["'](\w+)["']/.exec(line) ?? [];
  if (named && known.language === "javascript") {
    const of = known.libraries.filter(({ importName }) => !from || importName === from);
    const names = of.flatMap((it) => it.exports);
    // Nothing else may stand there.
    return completionResult(pos, named[1]!, names, "export") ?? { from: pos, options: [] };
  }
  const member = /\b(\w+)\.(\w*)$/.exec(before);
  if (!member || known.language !== "python") return null;
  const library = known.libraries.find(({ importName }) => importName === member[1]);
  if (!library || !new RegExp(`\\bimport\\b.*\\b${library.importName}\\b`).test(code)) return null;
  return completionResult(pos, member[2]!, library.exports, "export");
}

function completeField(
  code: string,
  before: string,
  pos: number,
  known: CompletionData,
): CompletionResult | null {
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
  for (const event of known.events) {
    for (const [key, value] of Object.entries(valueAt(event, steps) ?? {})) {
      if (options.size >= FIELDS_MAX || options.has(key)) continue;
      options.set(key, { label: key, type: "property", detail: sampleText(value) });
    }
  }
  if (options.size === 0) return null;
  return { from: pos - typed.length, options: [...options.values()], validFor: /^[\w$ -]*$/ };
}

/** `event`, an item of `events`, or what the entry point calls its first parameter. */
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
  const text = JSON.stringify(value) ?? "";
  return text.length > SAMPLE_CHARS ? `${text.slice(0, SAMPLE_CHARS - 1)}…` : text;
}

const globalNames: Record<CompletionData["language"], readonly string[]> = {
  javascript: ["log", "getCredential", "metadata", "fetch", "fetchV2", "geolocation"],
  python: ["log", "getCredential", "metadata"],
};

function completeGlobal(
  before: string,
  pos: number,
  known: CompletionData,
): CompletionResult | null {
  const [, typed = ""] = /(?:^|[^\w$.])([\w$]*)$/.exec(before) ?? [];
  if (/[.\w$]$/.test(before) && typed === "") return null;
  return completionResult(pos, typed, [...globalNames[known.language], "event"], "provided");
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

/** What a library's code exports, as far as its text shows. */
export function exportsOf(code: string, language: CompletionData["language"]): string[] {
  if (language === "python") {
    return [
      ...code.matchAll(/^(?:async\s+)?(?:def|class)\s+([A-Za-z]\w*)|^([A-Za-z]\w*)\s*=/gm),
    ].map(([, defined, assigned]) => (defined ?? assigned)!);
  }
  const single = code.matchAll(
    /^\s*export\s+(?:async\s+)?(?:function\*?|class|const|let|var)\s+([\w$]+)/gm,
  );
  const lists = [...code.matchAll(/^\s*export\s*\{([^}]*)\}/gm)].flatMap(([, names = ""]) =>
    names.split(",").map(
      (name) =>
        name
          .trim()
          .split(/\s+as\s+/)
          .at(-1)!,
    ),
  );
  return [...[...single].map(([, name]) => name!), ...lists].filter((name) =>
    /^[\w$]+$/.test(name),
  );
}
