import {
  type CodeContext,
  type CodeKindInfo,
  isPython,
  type Language,
  libraries,
} from "../../code-kinds/code-kind.ts";
import { exportsOf } from "../../editor/completion.ts";

/** Returns the code that the editor shows for a new draft. */
export function starterCode(kind: CodeKindInfo, language: Language): string {
  if (kind === libraries) {
    return isPython(language)
      ? 'def shout(text):\n    return str(text or "").upper()\n'
      : 'export const shout = (text) => String(text ?? "").toUpperCase();\n';
  }
  return isPython(language)
    ? "def transformEvent(event, metadata):\n    return event\n"
    : "export function transformEvent(event, metadata) {\n  return event;\n}\n";
}

/**
 * Returns the initial code of the transformation that calls the edited library in a test run. Empty
 * when the edited code is itself a transformation.
 */
export function trialCode(
  kind: CodeKindInfo,
  { importName = "", language, code }: CodeContext["newest"],
): string {
  if (kind !== libraries) return "";
  if (isPython(language)) {
    return `import ${importName}\n\ndef transformEvent(event, metadata):\n    return event\n`;
  }
  const [first = "name"] = exportsOf(code, "javascript");
  return `import { ${first} } from "${importName}";

export function transformEvent(event) {
  return event;
}
`;
}
