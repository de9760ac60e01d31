import { pixelPaths } from "./pixel.ts";
import { sdkPaths } from "./sdk.ts";

export { transformerPaths } from "./transformer.ts";

/** Tags of the operations that other listeners than the control plane's have. */
export const listenerTags = ["pixel", "sdk", "rudder-server"];

/**
 * Returns the parts of the OpenAPI document about the Pixel API and the requests of SDKs. The data
 * plane serves both at its own address.
 */
export function dataPlanePaths(dataPlaneUrl: string): Record<string, Record<string, unknown>> {
  const servers = [{ url: dataPlaneUrl, description: "Data plane" }];
  const paths = { ...pixelPaths(), ...sdkPaths() };
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [path, { servers, ...operations }]),
  );
}
