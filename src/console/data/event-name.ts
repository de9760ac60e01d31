import { isolated } from "../format.ts";
import { commonTexts } from "../texts/common.ts";

const NAME_CHARS_MAX = 200;

/**
 * Returns the name under which the console shows an event: its event name, else its page name, else
 * its type.
 */
export function eventName(event: unknown): string {
  if (typeof event !== "object" || event === null) return commonTexts.anEvent;
  const { event: name, name: page, type } = event as Record<string, unknown>;
  const first = [name, page, type].find((it) => typeof it === "string" && it !== "");
  return typeof first === "string" ? isolated(first.slice(0, NAME_CHARS_MAX)) : commonTexts.anEvent;
}
