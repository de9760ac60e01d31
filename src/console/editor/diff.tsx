import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { conflictTexts } from "../texts/conflicts.ts";
import { type EditorLanguage, languageExtensions } from "./create-editor.ts";
import { markSpecialCharacters } from "./mark-special-characters.ts";
import { theme } from "./theme.ts";

interface DiffSide {
  label: string;
  text: string;
}

/** Minimum width, in CSS pixels, at which `Diff` shows the two texts side by side. */
const SIDE_BY_SIDE_PX = 640;

/**
 * Shows the differences of two texts, side by side if there is enough width. With `onChange`, the
 * user can edit the text `after`, or copy single differences from `before` to it.
 */
export function Diff(props: {
  before: DiffSide;
  after: DiffSide;
  language: EditorLanguage;
  onChange?: (after: string) => void;
}) {
  const { before, after, language } = props;
  const isEditable = props.onChange !== undefined;
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const parent = host.current!;
    const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
    const look = isEditable ? {} : { collapseUnchanged: { margin: 3, minSize: 6 } };
    const extensions = [
      lineNumbers(),
      languageExtensions(language),
      theme,
      EditorView.lineWrapping,
      markSpecialCharacters,
    ];
    const edited = [
      extensions,
      isEditable
        ? editableExtensions(after.label, (text) => latest.current.onChange?.(text))
        : readOnlyExtensions(after.label),
    ];
    if (parent.clientWidth < SIDE_BY_SIDE_PX) {
      const merge = unifiedMergeView({ original: before.text, mergeControls: isEditable, ...look });
      const view = new EditorView({
        root,
        parent: root,
        doc: after.text,
        extensions: [edited, merge],
      });
      return () => view.destroy();
    }
    const view = new MergeView({
      root,
      parent: root,
      a: { doc: before.text, extensions: [extensions, readOnlyExtensions(before.label)] },
      b: { doc: after.text, extensions: edited },
      ...look,
      ...(isEditable && copyArrows),
    });
    return () => view.destroy();
    // If the user can edit `after`, its changes come from this editor, which then must stay.
  }, [before.text, isEditable || after.text, language]);

  return <div class="editor diff" ref={host} />;
}

function editableExtensions(label: string, onChange: (text: string) => void): Extension {
  return [
    history(),
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
  ];
}

function readOnlyExtensions(label: string): Extension {
  return [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    // The text needs the focus to be scrolled by keyboard. It has the role of a text box, because
    // CodeMirror sets `aria-multiline`, which only a text box may have.
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-readonly": "true",
      role: "textbox",
      tabindex: "0",
    }),
  ];
}

/** CodeMirror's options for buttons that copy a difference from the first text to the second. */
const copyArrows = { revertControls: "a-to-b", renderRevertControl: takeButton } as const;

/** Minimum width and height of a button, in CSS pixels, so that a finger can hit it. */
const TARGET_PX = 24;

/**
 * Creates the button beside a difference. The button copies this part of the text `before` to the
 * edited text `after`.
 */
function takeButton(): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "→";
  button.ariaLabel = conflictTexts.takeChange;
  button.style.minWidth = `${TARGET_PX}px`;
  button.style.minHeight = `${TARGET_PX}px`;
  return button;
}
