import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { annotationExtensions } from "./annotations.ts";
import { type CompletionData, completionSource } from "./completion.ts";
import { theme } from "./theme.ts";

export type EditorLanguage = "javascript" | "python" | "json";

interface EditorOptions {
  /** Name of the editor for screen readers. */
  label: string;
  language: EditorLanguage;
  onChange(text: string): void;
  /** Called when the user presses `Cmd/Ctrl+Enter`. */
  onRun(): void;
  /** Called when the user presses `Cmd/Ctrl+S`. */
  onSave(): void;
  completionData?: () => CompletionData;
}

/** Syntax extensions for a language. JSON uses the syntax of JavaScript. */
export function languageExtensions(language: EditorLanguage) {
  return language === "python" ? [python(), indentUnit.of("    ")] : [javascript()];
}

/**
 * Creates an editor in a shadow root. There CodeMirror uses constructed style sheets, which the
 * page's content security policy allows. Tab indents the line. Escape followed by Tab moves the
 * focus out of the editor.
 */
export function createEditor(root: ShadowRoot, text: string, options: EditorOptions): EditorView {
  const { label, language, completionData } = options;
  const handled = (action: () => void) => () => {
    action();
    return true;
  };
  const shortcuts = [
    { key: "Mod-Enter", run: handled(options.onRun) },
    { key: "Mod-s", run: handled(options.onSave), preventDefault: true },
  ];
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of(shortcuts)),
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightActiveLine(),
        drawSelection(),
        history(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        ...(completionData ? [autocompletion(), completionSourceOf(completionData)] : []),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          ...completionKeymap,
          indentWithTab,
        ]),
        ...languageExtensions(language),
        theme,
        annotationExtensions,
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
}

function completionSourceOf(data: () => CompletionData) {
  const autocomplete = completionSource(data);
  return EditorState.languageData.of(() => [{ autocomplete }]);
}
