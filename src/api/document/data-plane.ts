import { pixelPaths } from "./pixel.ts";
import { sdkPaths } from "./sdk.ts";

export { transformerPaths } from "./transformer.ts";

/** OpenAPI tags of the data plane (`pixel`, `sdk`) and of the listener for rudder-server. */
export const dataPlaneTags = ["pixel", "sdk", "rudder-server"];

/**
 * Returns the paths of the Pixel API and of the SDKs' requests, for the OpenAPI document. The data
 * plane serves them, at another address than the control plane's.
 */
export function dataPlanePaths(dataPlaneUrl: string): Record<string, Record<string, unknown>> {
  const servers = [{ url: dataPlaneUrl, description: "Data plane" }];
  const paths = { ...pixelPaths(), ...sdkPaths() };
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [path, { servers, ...operations }]),
  );
}
