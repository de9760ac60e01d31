import type { EventType } from "../../event/record.ts";

/** An endpoint that takes events of SDKs. */
export interface SdkEndpoint {
  /** Type of the endpoint's events; undefined for batches, in which each event states its type. */
  type: EventType | undefined;
  /**
   * Whether the write key may be in the query. Browsers' beacons send it there, because they cannot
   * send headers.
   */
  isBeacon: boolean;
}

/** All endpoints for events of SDKs, by path. Segment's SDKs use short paths such as `/v1/t`. */
export const sdkEndpoints = new Map<string, SdkEndpoint>();
const add = (endpoint: SdkEndpoint, ...paths: string[]) => {
  for (const path of paths) sdkEndpoints.set(path, endpoint).set(`${path}/`, endpoint);
};
for (const type of ["track", "page", "identify", "screen", "group", "alias"] as const) {
  add({ type, isBeacon: false }, `/v1/${type}`, `/v1/${type.charAt(0)}`);
}
add({ type: undefined, isBeacon: false }, "/v1/batch", "/v1/b", "/v1/import");
add({ type: undefined, isBeacon: true }, "/beacon/v1/batch");
