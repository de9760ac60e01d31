import { isLargeInteger } from "../../api/client.ts";

/** Differences between an event as it was received and the output that user code made of it. */
export interface EventChanges {
  /** Lines of the output's indented JSON that are new or changed, counted from 0. */
  lines: ReadonlySet<number>;
  /** Paths of fields that the received event has and the output lacks, such as `context.ip`. */
  removed: readonly string[];
}

/** Compares an output of user code (`event`) with the received event, by lines of indented JSON. */
export function changesOf(received: unknown, event: unknown): EventChanges {
  const lines = new Set<number>();
  const removed: string[] = [];

  /**
   * Adds to `lines` the numbers of new or changed lines in the JSON of `after`, which begins at
   * line `line`. Adds to `removed` the paths of fields that `after` lacks. Returns the number of
   * the line after this JSON.
   */
  function compare(before: unknown, after: unknown, line: number, path: string): number {
    const members = membersOf(after);
    const known = membersOf(before);
    if (members === undefined || known === undefined || isList(before) !== isList(after)) {
      const end = line + lineCount(after);
      if (JSON.stringify(before) !== JSON.stringify(after)) {
        for (let changed = line; changed < end; changed++) lines.add(changed);
      }
      return end;
    }
    const own = new Map(members);
    for (const [key] of known) if (!own.has(key)) removed.push(path + key);
    if (members.length === 0) return line + 1;
    const values = new Map(known);
    let next = line + 1;
    for (const [key, value] of members) {
      next = compare(values.get(key), value, next, `${path}${key}.`);
    }
    return next + 1;
  }

  compare(received, event, 0, "");
  return { lines, removed };
}

const isList = (value: unknown) => Array.isArray(value);

function membersOf(value: unknown): [key: string, value: unknown][] | undefined {
  const isObject = typeof value === "object" && value !== null && !isLargeInteger(value);
  return isObject ? Object.entries(value) : undefined;
}

function lineCount(value: unknown): number {
  return JSON.stringify(value, null, 2)?.split("\n").length ?? 1;
}
