import { isbot } from "isbot";
import { remembered } from "../../remembered.ts";

/** Maximum number of user agents for which the bot's name, or its absence, is cached. */
const USER_AGENTS_REMEMBERED_MAX = 4_096;

/**
 * Maximum number of characters of a user agent that are examined. A client can send a text of any
 * length, but the user agents of real clients are not longer.
 */
const USER_AGENT_CHARS_MAX = 1_024;

/** Number of characters to which the name of a bot is cut. */
const BOT_NAME_CHARS_MAX = 100;

const nameOf = remembered(USER_AGENTS_REMEMBERED_MAX, (text: string) =>
  isbot(text) ? nameIn(text) : undefined,
);

/**
 * Returns the name of the bot that a user agent belongs to, such as `Googlebot`; undefined when it
 * belongs to none, or is empty.
 */
export function botName(userAgent: string): string | undefined {
  if (userAgent === "") return undefined;
  return nameOf(userAgent.slice(0, USER_AGENT_CHARS_MAX));
}

/**
 * Returns a name from a bot's user agent, such as `bingbot`: the first word that contains `bot`,
 * `crawl` or `spider`, or else the first word. Needed because the library that recognizes bots
 * returns no names.
 */
function nameIn(text: string): string {
  const words = text.match(/[A-Za-z][\w-]*/g) ?? [];
  const name = words.find((word) => /bot|crawl|spider/i.test(word)) ?? words[0] ?? "";
  return name.slice(0, BOT_NAME_CHARS_MAX);
}
