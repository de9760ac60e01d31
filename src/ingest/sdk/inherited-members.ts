import type { SdkBody, SdkEventFacts } from "../../event/sdk/body.ts";

const COMMA = Buffer.from(",");
const CONTEXT = Buffer.from('"context":');
const INTEGRATIONS = Buffer.from('"integrations":');
const END = Buffer.from("}");
const NONE: Buffer[] = [];

/**
 * Returns a function that takes an event of a batch, and returns the members of the batch that the
 * event inherits: `context` and `integrations`, unless the event has them itself. Each is returned
 * as pieces of JSON, with a comma first.
 */
export function inheritedMembers({
  bytes,
  context,
  integrations,
}: Pick<SdkBody, "bytes" | "context" | "integrations">): (event: SdkEventFacts) => Buffer[] {
  if (context === undefined && integrations === undefined) return () => NONE;
  const ofContext = context && [COMMA, CONTEXT, bytes.subarray(context.start, context.end)];
  const ofIntegrations = integrations && [
    COMMA,
    INTEGRATIONS,
    bytes.subarray(integrations.start, integrations.end),
  ];
  return ({ hasContext, hasIntegrations }) => [
    ...((!hasContext && ofContext) || NONE),
    ...((!hasIntegrations && ofIntegrations) || NONE),
  ];
}

/**
 * Returns the JSON of an object that has at least one member, with `members` added at its end. If
 * the object has a member with the same name whose value is null, the added one replaces it,
 * because the last of equal names counts.
 */
export function withMembers(json: Buffer, members: readonly Buffer[]): Buffer {
  if (members.length === 0) return json;
  return Buffer.concat([json.subarray(0, json.length - 1), ...members, END]);
}
