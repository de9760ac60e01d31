import type { ComponentChildren } from "preact";

/** Shows each part of a text that is between backticks as code, such as the name of a field. */
export function withCode(content: ComponentChildren): ComponentChildren {
  if (typeof content !== "string") return content;
  const parts = content.split("`");
  // A backtick without its partner is not markup.
  if (parts.length % 2 === 0) return content;
  return parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
