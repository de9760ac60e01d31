import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { type EditorState, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** What a run says of a place in the code. Lines and columns count from 1. */
export interface Annotation {
  kind: "error" | "log";
  line: number;
  column?: number | undefined;
  text: string;
}

/** Lines of `log` that are shown at one line of the code. */
const LOGS_SHOWN = 3;
const LOG_CHARS_SHOWN = 120;

class LogWidget extends WidgetType {
  constructor(readonly text: string) {
    super();
  }

  override eq(other: LogWidget): boolean {
    return other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const shown = document.createElement("span");
    shown.className = "cm-log";
    shown.textContent = this.text;
    return shown;
  }
}

class ErrorWidget extends WidgetType {
  constructor(readonly text: string) {
    super();
  }

  override eq(other: ErrorWidget): boolean {
    return other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const shown = document.createElement("div");
    shown.className = "cm-fault";
    shown.textContent = this.text;
    return shown;
  }
}

const setAnnotations = StateEffect.define<readonly Annotation[]>();

const widgets = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, { changes, effects, state }) {
    const marks = effects.find((it) => it.is(setAnnotations));
    return marks ? widgetsOf(state, marks.value) : shown.map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function widgetsOf({ doc }: EditorState, marks: readonly Annotation[]): DecorationSet {
  const lines = new Map<number, Annotation[]>();
  for (const mark of marks) {
    if (mark.line < 1 || mark.line > doc.lines) continue;
    lines.set(mark.line, [...(lines.get(mark.line) ?? []), mark]);
  }
  const ranges = [...lines].flatMap(([number, here]) => {
    const { to } = doc.line(number);
    const logs = here.filter(({ kind }) => kind === "log");
    const faults = [...new Set(here.filter((it) => it.kind === "error").map((it) => it.text))];
    return [
      ...(logs.length > 0
        ? [Decoration.widget({ widget: new LogWidget(logText(logs)), side: 1 }).range(to)]
        : []),
      ...faults.map((text) =>
        Decoration.widget({ widget: new ErrorWidget(text), side: 2, block: true }).range(to),
      ),
    ];
  });
  return Decoration.set(ranges, true);
}

function logText(logs: readonly Annotation[]): string {
  const shown = logs.slice(0, LOGS_SHOWN).map(({ text }) => text.slice(0, LOG_CHARS_SHOWN));
  const more = logs.length > LOGS_SHOWN ? [`and ${logs.length - LOGS_SHOWN} more`] : [];
  return [...shown, ...more].join("  ·  ");
}

export const annotationExtensions = [widgets, lintGutter()];

/** Shows what a run says, and nothing of an earlier one. */
export function annotate(view: EditorView, marks: readonly Annotation[]): void {
  const errors = marks.filter(({ kind }) => kind === "error");
  const { doc } = view.state;
  const diagnostics = errors.flatMap((it) => diagnosticOf(doc, it));
  view.dispatch(setDiagnostics(view.state, diagnostics), { effects: setAnnotations.of(marks) });
}

function diagnosticOf(doc: Text, { line, column = 1, text }: Annotation): Diagnostic[] {
  if (line < 1 || line > doc.lines) return [];
  const { from: start, to: end, text: code } = doc.line(line);
  const from = Math.min(end, start + Math.max(0, column - 1));
  const word = /^[\w$]+|^./.exec(code.slice(from - start))?.[0] ?? "";
  return [{ from, to: Math.min(end, from + word.length), severity: "error", message: text }];
}
