import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";

export type DeadLetterGroup = AnswerOf<"GET /v2/dead-letter-groups">["deadLetterGroups"][number];
export type DeadLetter = AnswerOf<"GET /v2/dead-letters/{id}">["deadLetter"];

/** Why events were given up, most frequent first. */
export async function listDeadLetterGroups(destinationId?: string): Promise<DeadLetterGroup[]> {
  const query = destinationId === undefined ? {} : { destinationId };
  return (await client.call("GET /v2/dead-letter-groups", { query })).deadLetterGroups;
}
