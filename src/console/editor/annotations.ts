import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { type EditorState, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { codeTexts } from "../texts/code.ts";

/**
 * An error or a log line that the editor shows beside a line of the code. It comes from a test run
 * or from formatting. `line` and `column` count from 1.
 */
export interface Annotation {
  kind: "error" | "log";
  line: number;
  column?: number | undefined;
  text: string;
}

/** Maximum number of log lines shown beside one line of code. */
const LOGS_SHOWN = 3;
const LOG_CHARS_SHOWN = 120;

class TextWidget extends WidgetType {
  constructor(
    readonly tag: "span" | "div",
    readonly className: string,
    readonly text: string,
  ) {
    super();
  }

  override eq(other: TextWidget): boolean {
    return other.className === this.className && other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement(this.tag);
    element.className = this.className;
    element.textContent = this.text;
    return element;
  }
}

const logWidget = (text: string) => new TextWidget("span", "cm-log", text);
const errorWidget = (text: string) => new TextWidget("div", "cm-fault", text);

const setAnnotations = StateEffect.define<readonly Annotation[]>();

const widgets = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, { changes, effects, state }) {
    const annotations = effects.find((it) => it.is(setAnnotations));
    return annotations ? widgetsOf(state, annotations.value) : decorations.map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function widgetsOf({ doc }: EditorState, annotations: readonly Annotation[]): DecorationSet {
  const lines = Map.groupBy(
    annotations.filter((it) => isIn(doc, it)),
    ({ line }) => line,
  );
  const ranges = [...lines].flatMap(([number, here]) => {
    const { to } = doc.line(number);
    const logs = here.filter(({ kind }) => kind === "log");
    const faults = [...new Set(here.filter((it) => it.kind === "error").map((it) => it.text))];
    return [
      ...(logs.length > 0
        ? [Decoration.widget({ widget: logWidget(logText(logs)), side: 1 }).range(to)]
        : []),
      ...faults.map((text) =>
        Decoration.widget({ widget: errorWidget(text), side: 2, block: true }).range(to),
      ),
    ];
  });
  return Decoration.set(ranges, true);
}

function logText(logs: readonly Annotation[]): string {
  const texts = logs.slice(0, LOGS_SHOWN).map(({ text }) => text.slice(0, LOG_CHARS_SHOWN));
  const more = logs.length > LOGS_SHOWN ? [codeTexts.moreLogs(logs.length - LOGS_SHOWN)] : [];
  return [...texts, ...more].join("  ·  ");
}

export const annotationExtensions = [widgets, lintGutter()];

/** Shows the annotations in the editor, in place of all earlier ones. */
export function annotate(view: EditorView, annotations: readonly Annotation[]): void {
  const errors = annotations.filter(({ kind }) => kind === "error");
  const { doc } = view.state;
  const diagnostics = errors.filter((it) => isIn(doc, it)).map((it) => diagnosticOf(doc, it));
  view.dispatch(setDiagnostics(view.state, diagnostics), {
    effects: setAnnotations.of(annotations),
  });
}

/** Whether the text still has the line of an annotation. */
const isIn = (doc: Text, { line }: Annotation) => line >= 1 && line <= doc.lines;

function diagnosticOf(doc: Text, { line, column = 1, text }: Annotation): Diagnostic {
  const { from: start, to: end, text: code } = doc.line(line);
  const from = Math.min(end, start + Math.max(0, column - 1));
  const word = /^[\w$]+|^./.exec(code.slice(from - start))?.[0] ?? "";
  return { from, to: Math.min(end, from + word.length), severity: "error", message: text };
}
