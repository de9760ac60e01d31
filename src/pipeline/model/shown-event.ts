import { parseJsonOrText } from "./input-event.ts";

/**
 * Parses an event that user code made, to show it to users who may read events. Removes the members
 * named in `overrideMembers` from the event and from each object below its `integrations`. Code
 * sets such members to override the request that delivers the event. Their values may be
 * credentials, such as a header `Authorization`.
 */
export function shownOutput(
  json: Uint8Array | string,
  overrideMembers: readonly string[],
): unknown {
  const event = parseJsonOrText(json);
  if (!isObject(event)) return event;
  const { integrations } = event;
  const holders = [event, ...Object.values(isObject(integrations) ? integrations : {})];
  for (const holder of holders.filter(isObject)) {
    for (const name of overrideMembers) delete holder[name];
  }
  return event;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
