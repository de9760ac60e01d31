import type { ComponentChildren } from "preact";

/** Shows a text, and formats the parts between backticks, such as names of the API, as code. */
export function InlineCode({ text }: { text: string }) {
  const parts = text.split("`");
  // A backtick without its partner is not markup.
  if (parts.length % 2 === 0) return <>{text}</>;
  return (
    <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
  );
}

/** Shows a text as `InlineCode` does. Returns other content unchanged. */
export const withCode = (content: ComponentChildren) =>
  typeof content === "string" ? <InlineCode text={content} /> : content;
