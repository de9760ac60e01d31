const step = /\.([\p{ID_Start}$_][\p{ID_Continue}$-]*|\d+)|\[(\d+)\]|\['([^'\\\n]*)'\]/uy;

/**
 * The keys of a path such as `event.items[0].price` or `event.properties['a b']`, without `root`,
 * which stands first. Undefined when the text is no such path.
 */
export function parseTemplatePath(text: string, root: string): string[] | undefined {
  if (!text.startsWith(root)) return undefined;
  const keys: string[] = [];
  for (let at = root.length; at < text.length; at = step.lastIndex) {
    step.lastIndex = at;
    const found = step.exec(text);
    if (found === null) return undefined;
    keys.push(found[1] ?? found[2] ?? found[3]!);
  }
  return keys;
}
