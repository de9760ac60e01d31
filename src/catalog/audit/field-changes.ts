import { cutText } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import type { FieldChange } from "./audit-entry.ts";
import { AUDIT_CHANGES_MAX, AUDIT_VALUE_CHARS_MAX } from "./limits.ts";

/** Values of an item's fields, by path, such as `config.url`. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Maximum number of names in the path of a field; `config.url` has two names. An object whose path
 * has this many names is recorded as one value.
 */
const LEVELS_MAX = 4;

/**
 * An item in the form in which the audit log compares it. `fields` has the values that may be
 * recorded. `secrets` has, by path, a text that differs for different secrets and is only compared.
 */
export interface ComparableItem {
  fields: Fields;
  secrets?: Readonly<Record<string, string>>;
}

/**
 * Compares an item before and after a change, field by field. `before` or `after` is undefined when
 * the item did not exist then. For a secret, the result only says whether it changed.
 */
export function fieldChanges(
  before: ComparableItem | undefined,
  after: ComparableItem | undefined,
): { changes: FieldChange[]; changesLeftOut?: number } {
  const [old, now] = [flat(before?.fields), flat(after?.fields)];
  const changes: FieldChange[] = [];
  for (const path of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(path), now.get(path)];
    if (JSON.stringify(was) !== JSON.stringify(is)) changes.push(changeOf(path, was, is));
  }
  const [oldSecrets, newSecrets] = [before?.secrets, after?.secrets];
  for (const path of Object.keys({ ...oldSecrets, ...newSecrets })) {
    const isListed = changes.some((change) => isWithin(change.path, path));
    const isChanged = oldSecrets?.[path] !== newSecrets?.[path];
    if (isChanged && !isListed) changes.push({ path, isSecret: true });
  }
  const left = changes.length - AUDIT_CHANGES_MAX;
  if (left <= 0) return { changes };
  return { changes: changes.slice(0, AUDIT_CHANGES_MAX), changesLeftOut: left };
}

/** Returns the fields of an object and its nested objects, by path. A list is one value. */
export function flat(fields: Fields = {}): Map<string, unknown> {
  const found = new Map<string, unknown>();
  function visit(value: unknown, path: string, levels: number): void {
    if (value === undefined) return;
    const members = isObject(value) && levels < LEVELS_MAX ? Object.entries(value) : [];
    if (members.length === 0) found.set(path, value);
    for (const [name, member] of members) visit(member, `${path}.${name}`, levels + 1);
  }
  for (const [name, value] of Object.entries(fields)) visit(value, name, 1);
  return found;
}

const isWithin = (path: string, whole: string) => path === whole || path.startsWith(`${whole}.`);

function changeOf(path: string, before: unknown, after: unknown): FieldChange {
  const [was, is] = [bounded(before), bounded(after)];
  return {
    path: cutText(path, AUDIT_VALUE_CHARS_MAX),
    ...(before !== undefined && { before: was.value }),
    ...(after !== undefined && { after: is.value }),
    ...((was.isCut || is.isCut) && { isCut: true as const }),
  };
}

function bounded(value: unknown): { value: unknown; isCut: boolean } {
  const text = JSON.stringify(value) ?? "";
  if (text.length <= AUDIT_VALUE_CHARS_MAX) return { value, isCut: false };
  const shown = typeof value === "string" ? value : text;
  return { value: cutText(shown, AUDIT_VALUE_CHARS_MAX), isCut: true };
}
