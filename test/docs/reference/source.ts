import { parse } from "@babel/parser";
import { Glob } from "bun";

/** A node of a syntax tree; children are members that are nodes, or lists of them. */
export interface Node {
  type: string;
  start: number;
  [member: string]: any;
}

export interface SourceFile {
  path: string;
  tree: Node;
}

/**
 * The syntax trees of the server's files whose texts match `contents`, and whose paths below src
 * begin with `beginning`. To parse all files takes seconds.
 */
export async function sourceFiles(contents: RegExp, beginning = ""): Promise<SourceFile[]> {
  const all = [...new Glob("src/**/*.ts").scanSync(".")].sort();
  const paths = all.filter((path) => path.startsWith(`src/${beginning}`));
  const texts = await Promise.all(
    paths.map(async (path) => [path, await Bun.file(path).text()] as const),
  );
  return texts
    .filter(([, text]) => contents.test(text))
    .map(([path, text]) => {
      const tree = parse(text, {
        sourceType: "module",
        plugins: ["typescript", "explicitResourceManagement"],
        attachComment: false,
      });
      return { path, tree: tree.program as unknown as Node };
    });
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

/** Every node of a tree, the tree first, in the order of the text. */
export function* nodesOf(tree: Node): Generator<Node> {
  yield tree;
  for (const child of Object.values(tree).flat()) if (isNode(child)) yield* nodesOf(child);
}

/** The member of an object literal, such as `name` of `{ name: "a" }`. */
export function memberOf(object: Node | undefined, name: string): Node | undefined {
  if (object?.type !== "ObjectExpression") return undefined;
  const properties = object.properties as Node[];
  return properties.find(({ key }) => key?.name === name)?.value;
}

/** The text of a string or template; `read` gives the text of an expression inside a template. */
export function textOf(
  node: Node | undefined,
  read: (expression: Node) => string,
): string | undefined {
  if (node?.type === "StringLiteral") return String(node.value);
  if (node?.type === "BinaryExpression" && node.operator === "+") {
    const [left, right] = [textOf(node.left, read), textOf(node.right, read)];
    return left !== undefined && right !== undefined ? left + right : undefined;
  }
  if (node?.type !== "TemplateLiteral") return undefined;
  const quasis = (node.quasis as Node[]).map((quasi) => String(quasi.value.cooked));
  return quasis
    .map((quasi, at) => quasi + (at < node.expressions.length ? read(node.expressions[at]) : ""))
    .join("");
}
