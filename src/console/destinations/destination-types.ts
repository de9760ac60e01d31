import type { JsonSchema } from "../components/forms/json-schema.ts";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { destinationTexts } from "../texts/destinations.ts";

export interface DestinationType extends Pick<Destination, "type" | "deliveredBy"> {
  config: JsonSchema;
}

/** Fetches the types of destinations with their config schemas. */
export async function listDestinationTypes(): Promise<DestinationType[]> {
  return (await client.call("GET /v2/destination-types")).destinationTypes;
}

/** Returns the type of a destination. Undefined if this server does not have the type. */
export function typeOf(
  types: readonly DestinationType[],
  destination: Pick<Destination, "type" | "deliveredBy">,
): DestinationType | undefined {
  return types.find((it) => optionOf(it) === optionOf(destination));
}

/**
 * Returns a string that identifies a destination type: its name in lower case. The word
 * `rudder-server` precedes the name if rudder-server delivers to destinations of the type, because
 * pixelmill may have another type of the same name.
 */
export function optionOf({ type, deliveredBy }: Pick<Destination, "type" | "deliveredBy">): string {
  const name = type.toLowerCase();
  return deliveredBy === "pixelmill" ? name : `${deliveredBy} ${name}`;
}

/** Returns the label of a destination type in a list of types. */
export function labelOfType({ type, deliveredBy }: DestinationType): string {
  return deliveredBy === "pixelmill" ? type : destinationTexts.typeOfRudderServer(type);
}
