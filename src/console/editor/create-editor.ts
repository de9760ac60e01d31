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

export interface EditorOptions {
  /** What the editor is called by those who do not see it. */
  label: string;
  language: EditorLanguage;
  isReadOnly: boolean;
  onChange(text: string): void;
  /** `Cmd/Ctrl+Enter` */
  onRun(): void;
  /** `Cmd/Ctrl+S` */
  onSave(): void;
  known?: (() => CompletionData) | undefined;
}

/** JSON is an expression of JavaScript. */
export function languageExtensions(language: EditorLanguage) {
  return language === "python" ? [python(), indentUnit.of("    ")] : [javascript()];
}

/**
 * An editor in a shadow root: styles that CodeMirror makes there are constructed, and no policy
 * for styles of the page forbids them. Tab indents; Escape and then Tab goes on.
 */
export function createEditor(root: ShadowRoot, text: string, options: EditorOptions): EditorView {
  const { label, language, isReadOnly, known } = options;
  const done = (act: () => void) => () => {
    act();
    return true;
  };
  const own = [
    { key: "Mod-Enter", run: done(options.onRun) },
    { key: "Mod-s", run: done(options.onSave), preventDefault: true },
  ];
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of(own)),
        ...[lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), drawSelection()],
        ...[history(), indentOnInput(), bracketMatching(), closeBrackets()],
        ...(known ? [autocompletion(), sourceOf(known)] : []),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          ...completionKeymap,
          indentWithTab,
        ]),
        ...languageExtensions(language),
        ...[theme, annotationExtensions],
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
}

function sourceOf(known: () => CompletionData) {
  const autocomplete = completionSource(known);
  return EditorState.languageData.of(() => [{ autocomplete }]);
}
