import { isolateHistory } from "@codemirror/commands";
import { diff } from "@codemirror/merge";
import type { ChangeSpec } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { type Annotation, annotate } from "./annotations.ts";
import { createEditor, type EditorProps } from "./create-editor.ts";

interface Props extends EditorProps {
  annotations?: readonly Annotation[];
  /**
   * Line to which the editor moves the cursor, counted from 1. To move it to the same line again,
   * pass a new object.
   */
  position?: { line: number } | undefined;
}

const noAnnotations: readonly Annotation[] = [];

/**
 * CodeMirror editor as a component. When `value`, `annotations` or `position` changes, the editor
 * shows the change.
 */
export function CodeEditor(props: Props) {
  const { value, annotations = noAnnotations, position } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  /**
   * Texts passed to `onChange` that the parent has not yet passed back as `value`. If `value` is
   * one of them, the editor keeps its own text, because the user may have typed more since.
   */
  const sent = useRef<string[]>([]);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const editor = createEditor(root, latest, (text) => {
      sent.current.push(text);
      latest.current.onChange(text);
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    // If `value` is a text that the user has since changed, it must not overwrite the newer
    // text.
    const at = sent.current.indexOf(value);
    sent.current = at < 0 ? [] : sent.current.slice(at + 1);
    const editor = view.current!;
    const { doc } = editor.state;
    if (at >= 0 || doc.toString() === value) return;
    editor.dispatch({
      changes: changesTo(doc.toString(), value),
      annotations: isolateHistory.of("full"),
      userEvent: "input.replace",
    });
  }, [value]);

  useEffect(() => annotate(view.current!, annotations), [annotations]);

  useEffect(() => {
    const editor = view.current!;
    if (position === undefined || position.line < 1 || position.line > editor.state.doc.lines)
      return;
    const { from } = editor.state.doc.line(position.line);
    editor.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    editor.focus();
  }, [position]);

  return <div class="editor" ref={host} />;
}

/**
 * Maximum steps of the search for the smallest difference between two texts. After this many steps,
 * the search returns a correct difference that may be larger than necessary.
 */
const DIFF_STEPS_MAX = 500;

/**
 * Returns the changes that turn `before` into `after`. They do not touch the parts that are equal
 * in both texts, so that the cursor and annotations in these parts stay.
 */
function changesTo(before: string, after: string): ChangeSpec[] {
  return diff(before, after, { scanLimit: DIFF_STEPS_MAX }).map(({ fromA, toA, fromB, toB }) => ({
    from: fromA,
    to: toA,
    insert: after.slice(fromB, toB),
  }));
}
