import type { JsonSchema } from "../components/forms/schema-form.tsx";
import { client } from "../data/session.ts";

interface DestinationType {
  type: string;
  config: JsonSchema;
}

/** Types of destinations, with the schemas of their settings. */
export async function listDestinationTypes(): Promise<DestinationType[]> {
  return (await client.call("GET /v2/destination-types")).destinationTypes;
}
