import type { JsonSchema } from "../components/forms/json-schema.ts";
import { client } from "../data/session.ts";

export interface DestinationType {
  type: string;
  config: JsonSchema;
}

/** Fetches the types of destinations with their config schemas. */
export async function listDestinationTypes(): Promise<DestinationType[]> {
  return (await client.call("GET /v2/destination-types")).destinationTypes;
}
