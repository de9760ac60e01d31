import type { JsonSchema } from "../components/forms/schema-form.tsx";
import { client } from "../data/session.ts";

export interface DestinationType {
  type: string;
  config: JsonSchema;
}

/** Types of destinations, with the schema of their settings. */
export async function destinationTypes(): Promise<DestinationType[]> {
  const { destinationTypes } = await client.call("GET /v2/destination-types");
  return destinationTypes;
}
