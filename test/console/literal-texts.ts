import { parse } from "@babel/parser";
import type { Node } from "../docs/reference/source.ts";

/** A text that a file of the console writes itself, where `src/console/texts` should have it. */
export interface LiteralText {
  start: number;
  end: number;
  line: number;
  text: string;
  kind: "jsx" | "attribute" | "string";
}

/** Attributes and properties whose value no person reads. */
const plainNames = new Set(
  `aria-autocomplete aria-busy aria-current aria-expanded aria-haspopup aria-hidden aria-live autoComplete class colour
  createPermission d fill font format height href icon id inputMode key kind language method name needs of path permission
  rel role rx scope screen spellcheck style tabIndex target tone type verb viewBox width x y`.split(
    /\s+/,
  ),
);

/** Properties whose value is a text, also where it is a single lower-case word. */
const textNames = new Set(["hint", "label", "noun", "placeholder", "singular", "text", "title"]);

/** Components that show their attribute `name` to screen readers. */
const copied = new Set(["CodeBlock", "CopyButton", "CopyableCode", "JsonBlock"]);

const comparisons = new Set(["===", "!==", "==", "!="]);
const isRequest = (text: string) => /^(GET|PUT|POST|DELETE|PATCH) \//.test(text);
/** A capitalized word, or a letter beside a space. */
const readsAsText = (text: string) => /^[^a-zA-Z]*[A-Z][a-z]|[a-zA-Z][,;:]? | [a-zA-Z]/.test(text);

const isSelector = (callee: Node) =>
  /^(matchMedia|querySelector)$/.test(callee.name ?? callee.property?.name ?? "");

/** Returns the texts for people that a file of the console has as literals. */
export function literalTexts(path: string, code: string): LiteralText[] {
  const plugins = ["typescript" as const, "jsx" as const];
  const tree = parse(code, {
    sourceType: "module",
    plugins: path.endsWith("x") ? plugins : ["typescript"],
    attachComment: false,
  });
  const found: LiteralText[] = [];
  const add = (kind: LiteralText["kind"], node: Node, text: string) =>
    found.push({
      kind,
      text: text.trim().replace(/\s+/g, " "),
      start: node.start,
      end: node.end,
      line: node.loc.start.line,
    });
  const visit = (node: Node, parent: Node | undefined) => {
    if (node.type.startsWith("TS") && node.type !== "TSAsExpression") {
      if (!["TSNonNullExpression", "TSSatisfiesExpression"].includes(node.type)) return;
    }
    if (node.type === "CallExpression" && isSelector(node.callee)) return;
    if (node.type === "ImportDeclaration" || node.type === "ImportExpression") return;
    if (node.type === "JSXText" && /[a-zA-Z]/.test(node.value)) add("jsx", node, node.value);
    if (node.type === "JSXAttribute") {
      const isCopyName = node.name.name === "name" && copied.has(parent?.name?.name);
      const isData = /^data-(?!tip)/.test(node.name.name);
      if (isData || (plainNames.has(node.name.name) && !isCopyName)) return;
      if (node.value?.type === "StringLiteral" && /[a-zA-Z]/.test(node.value.value)) {
        add("attribute", node.value, node.value.value);
        return;
      }
    }
    if (node.type === "ObjectProperty" && plainNames.has(node.key.name ?? node.key.value)) return;
    const isCompared =
      (parent?.type === "BinaryExpression" && comparisons.has(parent.operator)) ||
      (parent?.type === "SwitchCase" && parent.test === node);
    if (node.type === "StringLiteral" && !isCompared) {
      const isNamedText =
        parent?.type === "ObjectProperty" &&
        parent.value === node &&
        textNames.has(parent.key.name);
      const isText = isNamedText ? /[a-zA-Z]/.test(node.value) : readsAsText(node.value);
      if (isText && !isRequest(node.value)) add("string", node, node.value);
    }
    if (node.type === "TemplateLiteral") {
      const pieces = (node.quasis as Node[]).map((it) => String(it.value.cooked));
      const text = pieces.join("…");
      if (pieces.some(readsAsText) && !isRequest(text)) add("string", node, text);
    }
    for (const child of Object.values(node).flat()) {
      if (typeof child === "object" && child !== null && "type" in child && "start" in child) {
        visit(child, node);
      }
    }
  };
  visit(tree.program as unknown as Node, undefined);
  return found;
}
