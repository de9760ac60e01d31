import type { Schema } from "../parts/schema-form.tsx";
import { client } from "../session.ts";

export interface DestinationType {
  type: string;
  config: Schema;
}

/** Types of destinations, with the schema of their settings. */
export async function destinationTypes(): Promise<DestinationType[]> {
  const { destinationTypes } = await client.call("GET /v2/destination-types");
  return destinationTypes;
}
