import { client, missingPermission } from "./session.ts";

/**
 * Loads the latest events, at most `limit`, as the server received them from clients, newest first.
 * Resolves with an empty array if the session lacks the permission `events:read`.
 */
export async function recentSentEvents(limit: number): Promise<unknown[]> {
  if (missingPermission("events:read") !== undefined) return [];
  const { events } = await client.call("GET /v2/events/recent", { query: { limit } });
  return events.map(({ received }) => received).filter((event) => event !== undefined);
}
