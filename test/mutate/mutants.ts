import { parse } from "@babel/parser";

/**
 * Mutant: a small fault that replaces the text from `start` to `end` of a file by `replacement`.
 */
export interface Mutant {
  file: string;
  /** Line number, counted from 1. */
  line: number;
  start: number;
  end: number;
  replacement: string;
  /** Replaced text and replacement, on one line. */
  change: string;
}

/** Syntax tree node, with the fields that all nodes have. */
interface Node {
  type: string;
  start: number;
  end: number;
  loc: { start: { line: number } };
  [key: string]: unknown;
}

const CHANGE_LENGTH_MAX = 140;
/** Longest string that is mutated: longer ones are prose for people, which decides nothing. */
const STRING_LENGTH_MAX = 20;

/** Smallest round number that is a tunable figure: below are statuses of HTTP. */
const ROUND_MIN = 1_000;

const swapped: Record<string, string> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "==": "!=",
  "!=": "==",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&": "|",
  "|": "&",
  "^": "&",
  "<<": ">>",
  ">>": "<<",
  ">>>": "<<",
  "+=": "-=",
  "-=": "+=",
  "|=": "&=",
  "&=": "|=",
  "++": "--",
  "--": "++",
};
/** TypeScript nodes that contain an expression; all others are types alone. */
const typedExpressions = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
  "TSParameterProperty",
]);
const errorName = /(Error|Refused|Failed|Unavailable|Closed|Stale)$/;
/** Folders whose strings are prose for people, even single words such as "Done". */
const proseFolder = /^src\/console\/texts\//;
/** Keys of schemas and commands whose strings are prose for people, even single words. */
const proseKey = /^(description|summary)$/;
const metricName = /^(Counter|Gauge|Histogram)$/;
/** Names of figures with units. */
const figureName = /(_(MS|SECONDS|BYTES)(_M[A-Z]+)?|(Ms|Seconds|Bytes)(M[a-z]+)?)$/;

/** Finds all mutants of a file, in the order of its text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const found = new Map<string, Mutant>();
  const tree = parse(text, { sourceType: "module", plugins: ["typescript"] });
  const put = (node: Node, replacement: string, at = node.start, end = node.end) => {
    const was = text.slice(at, end);
    if (replacement === was) return;
    const change = `${short(was)} → ${short(replacement) || "(nothing)"}`;
    const mutant = { file, line: node.loc.start.line, start: at, end, replacement, change };
    found.set(`${at}-${end}-${replacement}`, mutant);
  };
  const walk = (node: Node, way: Node[]) => {
    if (isLeftAlone(node, way.at(-1))) return;
    if (!isProse(node, way, file)) mutate(node, way, text, put);
    for (const child of children(node)) walk(child, [...way, node]);
  };
  walk(tree.program as unknown as Node, []);
  return [...found.values()].sort((a, b) => a.start - b.start || a.end - b.end);
}

type Put = (node: Node, replacement: string, at?: number, end?: number) => void;

function mutate(node: Node, way: Node[], text: string, put: Put): void {
  const code = (part: Node) => text.slice(part.start, part.end);
  switch (node.type) {
    case "IfStatement":
    case "ConditionalExpression":
      mutateCondition(node.test as Node, ["true", "false"], code, put);
      break;
    case "WhileStatement":
    case "ForStatement":
      // `true` would make an endless loop.
      if (node.test) mutateCondition(node.test as Node, ["false"], code, put);
      break;
    case "LogicalExpression":
      put(node, `(${code(node.left as Node)})`);
      put(node, `(${code(node.right as Node)})`);
      break;
    case "UnaryExpression":
      if (node.operator === "!") put(node, code(node.argument as Node));
      break;
    case "BinaryExpression":
    case "AssignmentExpression":
    case "UpdateExpression":
      mutateOperator(node, text, put);
      break;
    case "BooleanLiteral":
      put(node, String(!node.value));
      break;
    case "NumericLiteral":
      if (isFigure(node, way)) break;
      put(node, `(${code(node)} + 1)`);
      put(node, `(${code(node)} - 1)`);
      break;
    case "StringLiteral":
    case "TemplateLiteral":
      if (isDecisive(node, way, text)) put(node, '""');
      break;
    case "ExpressionStatement":
      mutateStatement(node, code, put);
      break;
    case "BlockStatement":
      if (isBody(node, way.at(-1))) put(node, "{}");
  }
}

function mutateCondition(
  test: Node,
  values: string[],
  code: (node: Node) => string,
  put: Put,
): void {
  for (const value of values) put(test, value);
  // Equalities and negations get their negated form from other mutants.
  const isNegated = test.type === "UnaryExpression" && test.operator === "!";
  const isEquality = /^[!=]==?$/.test(String(test.operator));
  if (!isNegated && !isEquality) put(test, `!(${code(test)})`);
}

function mutateOperator(node: Node, text: string, put: Put): void {
  const operator = node.operator as string;
  const other = swapped[operator];
  if (other === undefined) return;
  const parts = [node.left, node.right, node.argument].filter(Boolean) as Node[];
  // `+` on strings is concatenation.
  if (operator[0] === "+" && parts.some(({ type }) => /^(String|Template)Literal$/.test(type))) {
    return;
  }
  const [first, second] = parts as [Node, Node | undefined];
  const from = second ? first.end : node.prefix ? node.start : first.end;
  const at = text.indexOf(operator, from);
  const before = text.slice(node.start, at);
  put(node, `${before}${other}${text.slice(at + operator.length, node.end)}`);
}

/** Deletes a statement. The `await` of a call stays, so that only the call is missing. */
function mutateStatement(node: Node, code: (node: Node) => string, put: Put): void {
  const expression = node.expression as Node;
  if (expression.type === "AwaitExpression") put(node, "await 0;");
  const isCall = /^(Optional)?CallExpression$/.test(expression.type);
  if (isCall && code(expression).startsWith("super(")) return;
  if (isCall || expression.type === "AssignmentExpression") put(node, ";");
}

/** Whether a block is the body of a function that is neither a getter nor a constructor. */
function isBody(node: Node, parent: Node | undefined): boolean {
  if ((node.body as Node[]).length === 0 || !parent) return false;
  if (parent.kind === "constructor") return false;
  return /Function|Method/.test(parent.type);
}

/** Whether a number is a tunable figure, for which one more or less is no fault. */
function isFigure(node: Node, way: Node[]): boolean {
  const value = node.value as number;
  if (value >= ROUND_MIN && value % 100 === 0) return true;
  return way.some(({ type, id, key, callee }) => {
    if (type === "NewExpression") return metricName.test(String((callee as Node).name));
    if (type === "ObjectProperty" && value > 1) return figureName.test(String((key as Node).name));
    return type === "VariableDeclarator" && figureName.test(String((id as Node).name));
  });
}

/** Whether a node is a string that tells something to people and decides nothing. */
function isProse(node: Node, way: Node[], file: string): boolean {
  if (node.type !== "StringLiteral" && node.type !== "TemplateLiteral") return false;
  const key = way.at(-1)?.key as Node | undefined;
  return proseFolder.test(file) || proseKey.test(String(key?.name));
}

/** Whether a string is short, and no part of an error, a metric or a property name. */
function isDecisive(node: Node, way: Node[], text: string): boolean {
  const own = text.slice(node.start + 1, node.end - 1);
  if (own.length > STRING_LENGTH_MAX || own.includes(" ")) return false;
  const parent = way.at(-1);
  if (parent?.key === node && !parent.computed) return false;
  return !way.some(({ type, callee }) => {
    if (type === "ThrowStatement") return true;
    if (type !== "NewExpression") return false;
    const name = String((callee as Node).name);
    return errorName.test(name) || metricName.test(name);
  });
}

/**
 * Whether a node is not mutated: types, imports, log lines, error messages, examples of documents,
 * assertions, which hold whatever a test does, and what decides alone when a process may end.
 */
function isLeftAlone(node: Node, parent: Node | undefined): boolean {
  if (node.type === "ObjectProperty" && (node.key as Node).name === "example") return true;
  if (node.type === "TemplateLiteral" && parent?.type === "NewExpression") return true;
  if (node.type.startsWith("TS")) return !typedExpressions.has(node.type);
  // The name of an error class is a part of its message.
  if (node.type === "ClassProperty" && node.override && (node.key as Node).name === "name") {
    return true;
  }
  if (node.declare === true || node.type === "ImportDeclaration") return true;
  if (/^Export(All|Named)Declaration$/.test(node.type)) return Boolean(node.source);
  const call = (node.type === "ExpressionStatement" ? node.expression : node) as Node;
  if (!/^(Optional)?CallExpression$/.test(call.type)) return false;
  const { object, property, name } = call.callee as Partial<Record<string, Node>>;
  if (String(name) === "assert" || String(property?.name) === "unref") return true;
  if (!/^(debug|info|warn|error|fatal)$/.test(String(property?.name))) return false;
  const logger = (object?.property ?? object) as Node;
  return /log/i.test(String(logger?.name ?? (logger?.id as Node | undefined)?.name));
}

function* children(node: Node): Generator<Node> {
  for (const [key, value] of Object.entries(node)) {
    if (key === "loc" || /Comments$/.test(key)) continue;
    for (const part of Array.isArray(value) ? value : [value]) {
      if (typeof part?.type === "string" && typeof part.start === "number") yield part;
    }
  }
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > CHANGE_LENGTH_MAX ? `${line.slice(0, CHANGE_LENGTH_MAX)}…` : line;
}
