const step = /\.([\p{ID_Start}$_][\p{ID_Continue}$-]*|\d+)|\[(\d+)\]|\['([^'\\\n]*)'\]/uy;

/**
 * Parses a path such as `event.items[0].price` or `event.properties['a b']` into a list of keys.
 * The path must begin with `root`, which is not part of the list. Undefined when the path is
 * invalid.
 */
export function parseTemplatePath(text: string, root: string): string[] | undefined {
  if (!text.startsWith(root)) return undefined;
  const keys: string[] = [];
  for (let at = root.length; at < text.length; at = step.lastIndex) {
    step.lastIndex = at;
    const match = step.exec(text);
    if (match === null) return undefined;
    keys.push(match[1] ?? match[2] ?? match[3]!);
  }
  return keys;
}
