import { useRef, useState } from "preact/hooks";
import { isPython, type Language } from "../../code-kinds/code-kind.ts";
import { showError, showToast } from "../../components/toasts.ts";
import { loadPart } from "../../data/load-part.ts";
import type { Annotation } from "../../editor/annotations.ts";
import { codeTexts } from "../../texts/code.ts";

const noErrors: readonly Annotation[] = [];

/**
 * Component state for formatting a text that the user edits. The formatter is loaded on first use.
 */
export function useFormat(
  language: Language,
  text: string,
  setText: (text: string) => void,
  showLine: (line: number) => void,
) {
  const [formatErrors, setFormatErrors] = useState(noErrors);
  /** The user's latest text. The parameter `text` lacks the changes made since the last render. */
  const latest = useRef(text);
  latest.current = text;
  function replace(next: string) {
    latest.current = next;
    setFormatErrors(noErrors);
    setText(next);
  }
  async function format() {
    const { formatJavaScript } = await loadPart(() => import("../../editor/format-code.ts"));
    for (;;) {
      const before = latest.current;
      const formatted = await formatJavaScript(before);
      // The user typed meanwhile.
      if (latest.current !== before) continue;
      if (typeof formatted === "string") return replace(formatted);
      const { line, column, message } = formatted;
      setFormatErrors([{ kind: "error", line, column, text: message }]);
      showToast(codeTexts.notFormatted(line, column, message));
      return showLine(line);
    }
  }
  return {
    /** Replaces the text, and removes the syntax error that the last formatting has reported. */
    setText: replace,
    /** Formats the text. Undefined for Python, for which the console has no formatter. */
    format: isPython(language) ? undefined : () => format().catch(showError),
    /**
     * Annotation for the editor with the syntax error that prevented the last formatting. Empty if
     * formatting succeeded, or if the text has been changed since.
     */
    formatErrors,
  };
}
