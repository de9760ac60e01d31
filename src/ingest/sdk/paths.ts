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

const batch: SdkEndpoint = { type: undefined, isBeacon: false };
const beacon: SdkEndpoint = { type: undefined, isBeacon: true };
const single = (type: EventType): SdkEndpoint => ({ type, isBeacon: false });

/** All endpoints for events of SDKs, by path. Segment's SDKs use short ones such as `/v1/t`. */
export const sdkEndpoints = new Map<string, SdkEndpoint>();
const add = (endpoint: SdkEndpoint, ...paths: string[]) => {
  for (const path of paths) sdkEndpoints.set(path, endpoint).set(`${path}/`, endpoint);
};
add(single("track"), "/v1/track", "/v1/t");
add(single("page"), "/v1/page", "/v1/p");
add(single("identify"), "/v1/identify", "/v1/i");
add(single("screen"), "/v1/screen", "/v1/s");
add(single("group"), "/v1/group", "/v1/g");
add(single("alias"), "/v1/alias", "/v1/a");
add(batch, "/v1/batch", "/v1/b", "/v1/import");
add(beacon, "/beacon/v1/batch");
