import type { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { type Annotation, annotate } from "./annotations.ts";
import type { CompletionData } from "./completion.ts";
import { createEditor, type EditorLanguage } from "./create-editor.ts";

interface Props {
  label: string;
  language: EditorLanguage;
  value: string;
  onChange: (value: string) => void;
  onRun?: () => void;
  onSave?: () => void;
  marks?: readonly Annotation[];
  known?: CompletionData;
  isReadOnly?: boolean;
  /** Goes to this line when the object changes. */
  shown?: { line: number } | undefined;
}

const noAnnotations: readonly Annotation[] = [];

/** A code editor; what it is given while it is open, it takes up. */
export function CodeEditor(props: Props) {
  const { value, marks = noAnnotations, shown } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  /** Texts that were told to `onChange` and have not come back as `value`. */
  const told = useRef<string[]>([]);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const { label, language, isReadOnly = false, known } = latest.current;
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const opened = createEditor(root, latest.current.value, {
      ...{ label, language, isReadOnly },
      onChange: (text) => {
        told.current.push(text);
        latest.current.onChange(text);
      },
      onRun: () => latest.current.onRun?.(),
      onSave: () => latest.current.onSave?.(),
      ...(known && { known: () => latest.current.known ?? known }),
    });
    view.current = opened;
    return () => opened.destroy();
  }, []);

  useEffect(() => {
    // What comes back late must not undo what was typed since.
    const at = told.current.indexOf(value);
    told.current = at < 0 ? [] : told.current.slice(at + 1);
    const opened = view.current!;
    const { doc } = opened.state;
    if (at >= 0 || doc.toString() === value) return;
    opened.dispatch({ changes: { from: 0, to: doc.length, insert: value } });
  }, [value]);

  useEffect(() => annotate(view.current!, marks), [marks]);

  useEffect(() => {
    const opened = view.current!;
    if (shown === undefined || shown.line < 1 || shown.line > opened.state.doc.lines) return;
    const { from } = opened.state.doc.line(shown.line);
    opened.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    opened.focus();
  }, [shown]);

  return <div class="editor" ref={host} />;
}
