import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { type EditorLanguage, languageExtensions } from "./create-editor.ts";
import { markSpecialCharacters } from "./mark-special-characters.ts";
import { theme } from "./theme.ts";

interface DiffSide {
  label: string;
  text: string;
}

/** Minimum width for both texts side by side, in CSS pixels. */
const SIDE_BY_SIDE_PX = 640;

/** Shows the differences of two texts, side by side if the width allows, else in one column. */
export function Diff(props: { before: DiffSide; after: DiffSide; language: EditorLanguage }) {
  const { before, after, language } = props;
  const host = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const element = host.current!;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const isWide = element.clientWidth >= SIDE_BY_SIDE_PX;
    const view = isWide ? sideBySide(root, props) : unified(root, props);
    return () => view.destroy();
  }, [before.text, after.text, language]);

  return <div class="editor diff" ref={host} />;
}

const collapse = { margin: 3, minSize: 6 };

function sideBySide(root: ShadowRoot, { before, after, language }: DiffProps): MergeView {
  return new MergeView({
    root,
    parent: root,
    a: { doc: before.text, extensions: readOnlyExtensions(before.label, language) },
    b: { doc: after.text, extensions: readOnlyExtensions(after.label, language) },
    collapseUnchanged: collapse,
  });
}

function unified(root: ShadowRoot, { before, after, language }: DiffProps): EditorView {
  return new EditorView({
    root,
    parent: root,
    doc: after.text,
    extensions: [
      readOnlyExtensions(after.label, language),
      unifiedMergeView({
        original: before.text,
        mergeControls: false,
        collapseUnchanged: collapse,
      }),
    ],
  });
}

type DiffProps = Parameters<typeof Diff>[0];

/** Returns the extensions of an editor whose text cannot be changed. */
export function readOnlyExtensions(label: string, language: EditorLanguage): Extension {
  return [
    lineNumbers(),
    languageExtensions(language),
    theme,
    EditorView.lineWrapping,
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    markSpecialCharacters,
    // It needs focus for scrolling by keyboard. CodeMirror sets `aria-multiline`, which only a text
    // box may have.
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-readonly": "true",
      role: "textbox",
      tabindex: "0",
    }),
  ];
}
