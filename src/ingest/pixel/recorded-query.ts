import type { Source } from "../../catalog/model.ts";
import { settingsOfSource } from "../../catalog/source-settings.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { PIXEL_TARGET_BYTES_MAX } from "../../settings/limits.ts";

/** Number of characters of a user agent that are recorded. No browser sends more. */
const USER_AGENT_CHARS_MAX = 1_024;

/**
 * Returns the query of a pixel as it is recorded. When the source marks or drops bots, the header
 * `User-Agent` is appended as the parameter `context.userAgent`, unless the query would become too
 * long. Because the parameter is last, it has no effect on a query that already has a parameter
 * with this name.
 */
export function recordedQuery(
  source: Pick<Source, "settings">,
  exchange: Pick<HttpExchange, "query" | "header">,
): string {
  const { query } = exchange;
  if (settingsOfSource(source).bots === "keep") return query;
  const userAgent = exchange.header("user-agent") ?? "";
  if (userAgent === "") return query;
  const text = encodeURIComponent(userAgent.slice(0, USER_AGENT_CHARS_MAX));
  const recorded = `${query}&context.userAgent=${text}`;
  return recorded.length > PIXEL_TARGET_BYTES_MAX ? query : recorded;
}
