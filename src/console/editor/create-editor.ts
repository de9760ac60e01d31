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
import { search, searchKeymap } from "@codemirror/search";
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
import { markSpecialCharacters } from "./mark-special-characters.ts";
import { theme } from "./theme.ts";

export type EditorLanguage = "javascript" | "python" | "json";

export interface EditorProps {
  /** Name of the editor for screen readers. */
  label: string;
  language: EditorLanguage;
  value: string;
  onChange: (value: string) => void;
  /** Action of the keyboard shortcut `Cmd/Ctrl+Enter`. */
  onRun?: () => void;
  /** Action of the keyboard shortcut `Cmd/Ctrl+S`. */
  onSave?: () => void;
  /** Action of the keyboard shortcut `Shift+Alt+F`. */
  onFormat?: (() => void) | undefined;
  completionData?: CompletionData;
}

/** Returns the CodeMirror extensions for the syntax of a language. JSON has those of JavaScript. */
export function languageExtensions(language: EditorLanguage) {
  return language === "python" ? [python(), indentUnit.of("    ")] : [javascript()];
}

/**
 * Creates an editor in a shadow root, because CodeMirror then uses constructed style sheets, which
 * the page's content security policy allows. Shortcuts call the functions that `latest` has at that
 * time. Escape, then Tab moves the focus out of the editor.
 */
export function createEditor(
  root: ShadowRoot,
  latest: { readonly current: EditorProps },
  onChange: (text: string) => void,
): EditorView {
  const { label, language, value, completionData } = latest.current;
  const autocomplete =
    completionData && completionSource(() => latest.current.completionData ?? completionData);
  const handled = (name: "onRun" | "onSave" | "onFormat") => () => {
    latest.current[name]?.();
    return true;
  };
  const shortcuts = [
    { key: "Mod-Enter", run: handled("onRun") },
    { key: "Mod-s", run: handled("onSave"), preventDefault: true },
    { key: "Shift-Alt-f", run: handled("onFormat"), preventDefault: true },
  ];
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: value,
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
        autocomplete
          ? [autocompletion(), EditorState.languageData.of(() => [{ autocomplete }])]
          : [],
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...completionKeymap,
          indentWithTab,
        ]),
        ...languageExtensions(language),
        theme,
        annotationExtensions,
        markSpecialCharacters,
        search({ top: true }),
        replaceSelection,
        EditorView.contentAttributes.of({
          "aria-label": label,
          spellcheck: "false",
          tabindex: "0",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
}

/**
 * Makes the editor replace a selection with typed text itself. If the browser did this, Chromium
 * would give the text a `style` attribute, which the content security policy refuses.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data: text, inputType } = event;
    const { main } = view.state.selection;
    if (inputType !== "insertText" || text === null || view.composing || main.empty) return false;
    event.preventDefault();
    const insert = () =>
      view.state.update(view.state.replaceSelection(text), { userEvent: "input.type" });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (handlers.some((handle) => handle(view, main.from, main.to, text, insert))) return true;
    view.dispatch(insert(), { scrollIntoView: true });
    return true;
  },
  compositionstart(_, view) {
    if (!view.state.selection.main.empty) view.dispatch(view.state.replaceSelection(""));
    return false;
  },
});
