import { dirname, join } from "node:path";
import { Glob } from "bun";

/** The documents for readers: those of the top level, and docs/. */
export const documents = [
  ...new Glob("*.md").scanSync("."),
  ...new Glob("docs/**/*.md").scanSync("."),
].sort();

/** The text without code: blocks and spans become empty. */
export function withoutCode(markdown: string): string {
  return markdown.replace(/^```.*?^```$/gms, "").replace(/`[^`\n]+`/g, "``");
}

/** The blocks of a language in a page. */
export function blocks(markdown: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms");
  return [...markdown.matchAll(pattern)].map(([, text]) => text!);
}

/** The block of a language in a page, the first one by default. */
export function block(markdown: string, language: string, at = 0): string {
  const found = blocks(markdown, language)[at];
  if (found === undefined) throw new Error(`Expected block ${at} of the language ${language}`);
  return found;
}

/** The anchors of a page's headings, as forges make them. */
export function anchors(markdown: string): string[] {
  const headings = markdown.replace(/^```.*?^```$/gms, "").matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

interface Link {
  target: string;
  /** The file that the link leads to, from the top level; undefined for another site. */
  path: string | undefined;
  anchor: string | undefined;
}

/** The links and images of a page. */
export function links(path: string, markdown: string): Link[] {
  const text = withoutCode(markdown);
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => {
    if (/^https?:/.test(target)) return { target, path: undefined, anchor: undefined };
    const [file = "", anchor] = target.split("#");
    return { target, path: file === "" ? path : join(dirname(path), file), anchor };
  });
}
