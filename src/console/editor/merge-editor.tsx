import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { conflictTexts } from "../texts/conflicts.ts";
import { type EditorLanguage, languageExtensions } from "./create-editor.ts";
import { readOnlyExtensions } from "./diff.tsx";
import { markSpecialCharacters } from "./mark-special-characters.ts";
import { theme } from "./theme.ts";

/** Minimum width for both texts side by side, in CSS pixels. */
const SIDE_BY_SIDE_PX = 640;

/**
 * Editor of the result of a merge, beside the text with which the result is compared. An arrow at
 * each difference copies the compared text into the result.
 */
export function MergeEditor(props: {
  compared: { label: string; text: string };
  result: { label: string; text: string };
  language: EditorLanguage;
  onChange: (text: string) => void;
}) {
  const { compared, result, language } = props;
  const host = useRef<HTMLDivElement>(null);
  const onChange = useRef(props.onChange);
  onChange.current = props.onChange;

  useEffect(() => {
    const element = host.current!;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const editable: Extension = [
      lineNumbers(),
      languageExtensions(language),
      theme,
      EditorView.lineWrapping,
      markSpecialCharacters,
      history(),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.contentAttributes.of({ "aria-label": result.label, spellcheck: "false" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange.current(update.state.doc.toString());
      }),
    ];
    if (element.clientWidth < SIDE_BY_SIDE_PX) {
      const view = new EditorView({
        root,
        parent: root,
        doc: result.text,
        extensions: [editable, unifiedMergeView({ original: compared.text })],
      });
      return () => view.destroy();
    }
    const view = new MergeView({
      root,
      parent: root,
      a: {
        doc: compared.text,
        extensions: readOnlyExtensions(compared.label, language),
      },
      b: { doc: result.text, extensions: editable },
      revertControls: "a-to-b",
      renderRevertControl: takeButton,
    });
    return () => view.destroy();
    // The result's own changes come from this editor.
  }, [compared.text, language]);

  return <div class="editor diff" ref={host} />;
}

/** Minimum width and height of a button that is tapped with a finger, in CSS pixels. */
const TARGET_PX = 24;

/** Creates the button at a difference that copies the compared text into the result. */
function takeButton(): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "→";
  button.ariaLabel = conflictTexts.takeChange;
  button.style.minWidth = `${TARGET_PX}px`;
  button.style.minHeight = `${TARGET_PX}px`;
  return button;
}
