import type { ComponentChildren } from "preact";
import { CopyButton } from "./button.tsx";

/** A text to read or to copy, as it is. */
export function CodeBlock({ text, name, wrap }: { text: string; name: string; wrap?: boolean }) {
  return (
    <CopyFrame text={text} what={name} wrap={wrap === true}>
      {text}
    </CopyFrame>
  );
}

function CopyFrame(props: {
  text: string;
  what: string;
  wrap?: boolean;
  children: ComponentChildren;
}) {
  const { text, what, wrap, children } = props;
  return (
    <div class={wrap ? "code wrap" : "code"}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <section tabIndex={0} aria-label={what}>
        <pre>{children}</pre>
      </section>
      <CopyButton text={text} what={what} />
    </div>
  );
}

/** Beyond it a value is shown as plain text: each coloured piece is an element. */
const COLOURED_CHARS_MAX = 20_000;
const jsonTokens = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/** A value as indented JSON. */
export function JsonBlock({ value, what }: { value: unknown; what: string }) {
  const text = JSON.stringify(value, null, 2) ?? "undefined";
  return (
    <CopyFrame text={text} what={what}>
      {text.length > COLOURED_CHARS_MAX ? text : highlightJson(text)}
    </CopyFrame>
  );
}

function highlightJson(text: string) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(jsonTokens)) {
    const [found, quoted, colon] = match;
    parts.push(text.slice(end, match.index));
    const kind = quoted === undefined ? "value" : colon === undefined ? "text" : "key";
    const shown = colon === undefined ? found : quoted;
    parts.push(<span class={kind}>{shown}</span>);
    if (colon !== undefined) parts.push(colon);
    end = match.index + found.length;
  }
  return [...parts, text.slice(end)];
}
