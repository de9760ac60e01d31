/**
 * Patterns of JavaScriptCore's error messages, each with V8's message for the same error. Users
 * search the web for V8's messages, because RudderStack runs transformations on V8. A message that
 * matches no pattern stays unchanged.
 */
const translations: [pattern: RegExp, replace: (...groups: string[]) => string | undefined][] = [
  [
    /^(undefined|null) is not an object \(evaluating '(.*)'\)$/s,
    (value, expression) => propertyMessage(value!, expression!),
  ],
  [/^(.+) is not a function\. \(In '.*\)$/s, (callee) => `${callee} is not a function`],
  [
    /^.+ is not a constructor \(evaluating 'new ([\w$.]+).*'\)$/s,
    (callee) => `${callee} is not a constructor`,
  ],
  [/^JSON\.stringify cannot serialize cyclic.*$/, () => "Converting circular structure to JSON"],
  [/^JSON\.stringify cannot serialize BigInt\.$/, () => "Do not know how to serialize a BigInt"],
  [/^Out of memory$/, () => "Out of memory: allocation failed at the memory limit"],
  [/^(Maximum call stack size exceeded)\.$/, (same) => same],
  [/^(Cannot access '.+' before initialization)\.$/, (same) => same],
  [/^(Unexpected [^.]+)\. .*$/s, (same) => same],
];

/** Translates JavaScriptCore's error message to V8's, and keeps a leading `TypeError: `. */
export function toV8Message(message: string): string {
  const [, name = "", rest = ""] = /^([A-Za-z]*Error: )?(.*)$/s.exec(message) ?? [];
  for (const [pattern, replace] of translations) {
    const match = pattern.exec(rest);
    const translated = match && replace(...match.slice(1));
    if (translated) return name + translated;
  }
  return message;
}

const PROPERTY = /(?:\.([\w$]+)|\[(?:(\d+)|'([^']*)'|"([^"]*)")\])(\s*=.*)?$/s;

/**
 * Returns V8's message for the use of a property of undefined or null, such as `e.a.b` when `e.a`
 * is undefined. Returns undefined when the expression does not name the property.
 */
function propertyMessage(value: string, expression: string): string | undefined {
  const match = PROPERTY.exec(expression);
  if (!match) return undefined;
  const [, name, index, single, double, assigned] = match;
  const property = name ?? index ?? single ?? double;
  return assigned === undefined
    ? `Cannot read properties of ${value} (reading '${property}')`
    : `Cannot set properties of ${value} (setting '${property}')`;
}

/**
 * Maximum number of characters before a parenthesis in which the name of the called function is
 * searched. It bounds the time of this search, which is quadratic in the length of a name.
 */
const CALLED_CHARS_MAX = 1_000;
const CALLED = /(?:new\s+[\w$.]+|await\s+import|[\w$#]+)\s*$/;

/**
 * Returns the column (1-based) that V8 reports for an error that JavaScriptCore reports at `column`
 * of `line`. V8 reports the name of a property or function, JavaScriptCore the dot before it or the
 * parenthesis after it.
 */
export function toV8Column(line: string, column: number): number {
  const at = line[column - 1];
  if (at === ".") return column + 1;
  if (at !== "(") return column;
  const start = Math.max(0, column - 1 - CALLED_CHARS_MAX);
  const called = CALLED.exec(line.slice(start, column - 1));
  return called ? start + called.index + 1 : column;
}
