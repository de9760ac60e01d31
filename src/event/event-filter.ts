import { utf8Text } from "../json/bytes.ts";
import { parseExact } from "../json/parse-exact.ts";
import { textAt } from "./content-filter.ts";

/** Chooses events by the values of their fields, without code. */
export interface FieldFilter {
  /** Whether an event passes if it meets all conditions (`only`), or if it does not (`except`). */
  mode: "only" | "except";
  conditions: readonly FieldCondition[];
}

/** Condition on one field. An event without the field does not meet it. */
export interface FieldCondition {
  /** Path of the field, such as `properties.plan`. */
  path: string;
  /**
   * Accepted values. The field's value, as a string, must be one of them. If an accepted value ends
   * with `*`, any text may stand in place of the `*`.
   */
  values: readonly string[];
}

/**
 * Returns a function that checks whether an event passes the filter. The function gets the event as
 * JSON in UTF-8. If there is no filter, every event passes.
 */
export function filterOf(filter: FieldFilter | undefined): (json: Uint8Array) => boolean {
  if (filter === undefined) return () => true;
  const { mode, conditions } = filter;
  const tests = conditions.map(({ path, values }) => {
    const exact = new Set(values.filter((value) => !value.endsWith("*")));
    const starts = values.filter((value) => value.endsWith("*")).map((it) => it.slice(0, -1));
    return { path: path.split("."), exact, starts };
  });
  return (json) => {
    const event = parseExact(utf8Text(json));
    const meets = tests.every(({ path, exact, starts }) => {
      const text = textAt(event, path);
      if (text === undefined) return false;
      return exact.has(text) || starts.some((start) => text.startsWith(start));
    });
    return meets === (mode === "only");
  };
}
