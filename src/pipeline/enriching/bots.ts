import { isbot } from "isbot";

/**
 * Maximum number of user agents whose result is cached. The cache is cleared before one more is
 * added.
 */
const USER_AGENTS_REMEMBERED_MAX = 4_096;

/**
 * Number of characters of a user agent that are examined. A client can send a text of any length,
 * but no real user agent is longer.
 */
const USER_AGENT_CHARS_MAX = 1_024;

const BOT_NAME_CHARS_MAX = 100;

const known = new Map<string, string | undefined>();

/**
 * Returns the name of the bot that a user agent belongs to, such as `Googlebot`; undefined when it
 * belongs to none, or is empty.
 */
export function botName(userAgent: string): string | undefined {
  if (userAgent === "") return undefined;
  const text = userAgent.slice(0, USER_AGENT_CHARS_MAX);
  if (known.has(text)) return known.get(text);
  const name = isbot(text) ? nameIn(text) : undefined;
  if (known.size >= USER_AGENTS_REMEMBERED_MAX) known.clear();
  known.set(text, name);
  return name;
}

/**
 * Returns the name in a bot's user agent, such as `bingbot`: the first word with `bot`, `crawl` or
 * `spider`, else the first word. The list of bots does not contain the names.
 */
function nameIn(text: string): string {
  const words = text.match(/[A-Za-z][\w-]*/g) ?? [];
  const name = words.find((word) => /bot|crawl|spider/i.test(word)) ?? words[0] ?? "";
  return name.slice(0, BOT_NAME_CHARS_MAX);
}
