import { parse } from "@babel/parser";
import type { Node } from "../docs/reference/source.ts";

/**
 * A name that a user gave, as the child of an element other than `Name`, or as the title of a
 * component.
 */
export interface BareName {
  start: number;
  end: number;
  line: number;
  text: string;
}

const NAME = /^(name|\w+Name|email)$/;

/** Whether an expression is a user-given name: `it.name`, `sourceName` or `names.source(id)`. */
function isName(node: Node | undefined): boolean {
  switch (node?.type) {
    case "Identifier":
      return NAME.test(node.name);
    case "MemberExpression":
    case "OptionalMemberExpression":
      return !node.computed && NAME.test(node.property.name) && !isText(node.object);
    case "CallExpression":
    case "OptionalCallExpression":
      return /MemberExpression$/.test(node.callee.type) && isNameLookup(node.callee.object);
    case "LogicalExpression":
      return isName(node.right) || isName(node.left);
    case "ConditionalExpression":
      return isName(node.consequent) || isName(node.alternate);
    case "TSNonNullExpression":
      return isName(node.expression);
    default:
      return false;
  }
}

/** Whether an object holds the console's own texts. */
const isText = (node: Node) => /Texts$/.test(node.name ?? "");

const isNameLookup = (node: Node) =>
  node.name === "names" || (node.type === "MemberExpression" && node.property.name === "names");

/** Returns the children of elements and titles of components that show a name as it is. */
export function bareNames(path: string, code: string): BareName[] {
  if (!path.endsWith(".tsx")) return [];
  const tree = parse(code, {
    sourceType: "module",
    plugins: ["typescript", "jsx"],
    attachComment: false,
  });
  const found: BareName[] = [];
  const visit = (node: Node, parent: Node | undefined) => {
    const shown = shownExpression(node, parent);
    if (shown !== undefined && isName(shown)) {
      const { start, end } = node;
      found.push({ start, end, line: node.loc.start.line, text: code.slice(start, end) });
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

/** Returns the expression that is a child of an element, a title, or the whole cell of a table. */
function shownExpression(node: Node, parent: Node | undefined): Node | undefined {
  if (node.type === "JSXAttribute" && node.name.name === "title" && isComponent(parent)) {
    return node.value?.expression;
  }
  if (node.type === "JSXExpressionContainer" && isElement(parent) && !isInName(parent)) {
    return node.expression;
  }
  return node.type === "ObjectProperty" && node.key.name === "cell" ? node.value.body : undefined;
}

const isElement = (node: Node | undefined): node is Node =>
  node?.type === "JSXElement" || node?.type === "JSXFragment";

const isComponent = (node: Node | undefined) => /^[A-Z]/.test(node?.name?.name ?? "");

const isInName = (node: Node) => node.openingElement?.name.name === "Name";
