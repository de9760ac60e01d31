import type { ComponentChildren } from "preact";
import { CopyButton } from "./button.tsx";

/**
 * Shows `text` in monospace, with a button that copies it. `children`, if present, is the same text
 * with markup, and is shown instead of `text`.
 */
export function CodeBlock(props: {
  text: string;
  name: string;
  wrap?: boolean;
  children?: ComponentChildren;
}) {
  const { text, name, wrap, children = text } = props;
  return (
    <div class={wrap ? "code wrap" : "code"}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs keyboard focus */}
      <section tabIndex={0} aria-label={name}>
        <pre>{children}</pre>
      </section>
      <CopyButton text={text} name={name} />
    </div>
  );
}

/**
 * Maximum characters of a JSON text with syntax highlighting. A longer text is shown plain, because
 * a DOM element for each highlighted token would be slow.
 */
const HIGHLIGHTED_CHARS_MAX = 20_000;
const jsonTokens = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/**
 * Shows a value as indented JSON with syntax highlighting, and emphasizes the lines whose numbers,
 * counted from 0, are in `marked`.
 */
export function JsonBlock(props: { value: unknown; name: string; marked?: ReadonlySet<number> }) {
  const { value, name, marked } = props;
  const text = JSON.stringify(value, null, 2) ?? "undefined";
  const isPlain = text.length > HIGHLIGHTED_CHARS_MAX;
  return (
    <CodeBlock text={text} name={name}>
      {isPlain ? text : marked?.size ? highlightLines(text, marked) : highlightJson(text)}
    </CodeBlock>
  );
}

/**
 * Highlights a JSON text line by line, so that whole lines can be marked. No token of indented JSON
 * spans several lines.
 */
function highlightLines(text: string, marked: ReadonlySet<number>) {
  return text.split("\n").map((line, number) => {
    const shown = highlightJson(number === 0 ? line : `\n${line}`);
    return marked.has(number) ? <mark key={number}>{shown}</mark> : shown;
  });
}

function highlightJson(text: string) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(jsonTokens)) {
    const [token, quoted, colon] = match;
    parts.push(text.slice(end, match.index));
    const kind = quoted === undefined ? "warn" : colon === undefined ? "good" : "key";
    const coloured = colon === undefined ? token : quoted;
    parts.push(<span class={kind}>{coloured}</span>);
    if (colon !== undefined) parts.push(colon);
    end = match.index + token.length;
  }
  return [...parts, text.slice(end)];
}
