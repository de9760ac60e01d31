/** What an event is called: its name, else its page's, else its type. */
export function eventName(event: unknown): string {
  if (typeof event !== "object" || event === null) return "An event";
  const { event: name, name: page, type } = event as Record<string, unknown>;
  const found = [name, page, type].find((it) => typeof it === "string" && it !== "");
  return typeof found === "string" ? found.slice(0, NAME_CHARS_MAX) : "An event";
}

const NAME_CHARS_MAX = 200;
