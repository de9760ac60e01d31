import type { Source } from "../../catalog/model.ts";
import type { IngestSettings } from "../messages.ts";
import type { PixelEndpointOptions } from "../pixel/endpoint.ts";
import { errorBody } from "../responses.ts";

/** A response to an SDK: its status, and JSON text. */
export interface SdkAnswer {
  status: number;
  body: string;
}

export type SourceConfigOptions = Pick<PixelEndpointOptions, "source"> &
  Pick<IngestSettings, "publicUrl">;

/**
 * Creates the functions that answer SDKs when they ask for their configuration. Answers list no
 * destinations, because the server itself delivers to them. SDKs of a disabled source get status
 * 404, because mobile SDKs would delete their stored events after an answer with `enabled: false`.
 */
export function createSourceConfig({ source, publicUrl }: SourceConfigOptions) {
  return {
    /**
     * Returns the answer to a request of RudderStack's SDKs for `/sourceConfig`. `writeKey` is
     * undefined when the request has none.
     */
    rudderStack(writeKey: string | undefined) {
      if (writeKey === undefined || writeKey === "") {
        return refusal(401, "Failed to read writeKey from header");
      }
      const found = source(writeKey);
      // RudderStack's mobile SDKs stop for good after 400, and after this text.
      if (found === undefined) return refusal(400, "Invalid write key");
      return found.enabled ? answer(rudderStackConfig(found)) : disabled;
    },
    /** Returns the answer to a request of Segment's SDKs for `/v1/projects/{writeKey}/settings`. */
    segment(writeKey: string) {
      const found = source(writeKey);
      if (found === undefined) return refusal(404, "Invalid write key");
      return found.enabled ? answer(segmentSettings(found, publicUrl)) : disabled;
    },
  };
}

/**
 * Returns the configuration for RudderStack's SDKs, with all members that the strictest decoders
 * (Swift and Kotlin) need. The member `dataplanes` is left out, because it would replace the
 * address that an application has set.
 */
function rudderStackConfig({ id, name, writeKey, workspaceId, updatedAt }: Source) {
  return {
    source: {
      id,
      name,
      writeKey,
      workspaceId,
      enabled: true,
      updatedAt: new Date(updatedAt).toISOString(),
      config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
      destinations: [],
    },
  };
}

/**
 * Returns the settings that Segment's SDKs request when they start. `apiKey` is the write key for
 * their events. `apiHost` is the address to which they send the events, unless the application has
 * set another one.
 */
function segmentSettings({ writeKey }: Source, publicUrl: string | undefined) {
  const { protocol, host, pathname } = publicUrl === undefined ? NO_URL : new URL(publicUrl);
  const address = host !== "" && {
    apiHost: `${host}${pathname.replace(/\/$/, "")}/v1`,
    protocol: protocol.slice(0, -1),
  };
  return {
    integrations: { "Segment.io": { apiKey: writeKey, ...address } },
    plan: {},
    // A rate of 0 stops the SDK from sending figures about itself.
    metrics: { sampleRate: 0 },
  };
}

const NO_URL = { protocol: "", host: "", pathname: "" };

const answer = (value: object): SdkAnswer => ({ status: 200, body: JSON.stringify(value) });

function refusal(status: number, message: string): SdkAnswer {
  return { status, body: errorBody(status, message) };
}

const disabled = refusal(404, "Source is disabled");
