import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { checkedUrl, EgressRefused, egressHeaders } from "../../egress/egress.ts";
import type { Detail } from "../../errors.ts";
import {
  WEBHOOK_BATCH_EVENTS_MAX,
  WEBHOOK_HEADERS_MAX,
  WEBHOOK_SECRET_CHARS_MAX,
  WEBHOOK_TIMEOUT_MS_MAX,
  WEBHOOK_URL_CHARS_MAX,
} from "../../limits.ts";
import { rudderstackKeys } from "../rudderstack-keys.ts";
import { signingKey } from "./signature.ts";

const methods = ["POST", "PUT", "PATCH", "GET", "DELETE"] as const;

const Header = Type.Object({
  from: Type.String({ minLength: 1, maxLength: 128, description: "Header name" }),
  to: Type.String({ maxLength: 4_096, description: "Header value" }),
});

export const WebhookConfig = Type.Object({
  ...rudderstackKeys,
  webhookUrl: Type.String({ minLength: 1, maxLength: WEBHOOK_URL_CHARS_MAX }),
  webhookMethod: Type.Optional(
    Type.Union(
      methods.map((method) => Type.Literal(method)),
      {
        description: "GET and DELETE send the event's properties in the query, as RudderStack does",
      },
    ),
  ),
  headers: Type.Optional(Type.Array(Header, { maxItems: WEBHOOK_HEADERS_MAX })),
  batchSize: Type.Optional(Type.Integer({ minimum: 1, maximum: WEBHOOK_BATCH_EVENTS_MAX })),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: WEBHOOK_TIMEOUT_MS_MAX })),
  secret: Type.Optional(Type.String({ minLength: 1, maxLength: WEBHOOK_SECRET_CHARS_MAX })),
});
export type WebhookConfig = Static<typeof WebhookConfig>;

const ours = new Set([...egressHeaders, "webhook-id", "webhook-timestamp", "webhook-signature"]);

const expectations: Record<string, string> = {
  "/webhookUrl": `Expected an absolute http or https URL of at most ${WEBHOOK_URL_CHARS_MAX} characters`,
  "/webhookMethod": `Expected one of ${methods.join(", ")}`,
  "/headers": `Expected an array of at most ${WEBHOOK_HEADERS_MAX} objects with from and to`,
  "/batchSize": `Expected an integer from 1 to ${WEBHOOK_BATCH_EVENTS_MAX}`,
  "/timeoutMs": `Expected an integer from 1 to ${WEBHOOK_TIMEOUT_MS_MAX}`,
  "/secret": `Expected a string of 1 to ${WEBHOOK_SECRET_CHARS_MAX} characters`,
};

/** Errors of the schema that are looked at: each of many wrong headers would be one. */
const ERRORS_MAX = 100;

/** What is wrong with a webhook's config; paths are JSON pointers inside it. */
export function webhookFaults(config: Record<string, unknown>): Detail[] {
  const shape = new Map<string, Detail>();
  for (const { path } of Iterator.from(Value.Errors(WebhookConfig, config)).take(ERRORS_MAX)) {
    const top = path.split("/", 2).join("/");
    shape.set(top, { path: top, message: expectations[top] ?? "Expected another value" });
  }
  if (shape.size > 0 || !Value.Check(WebhookConfig, config)) return [...shape.values()];
  const secret = config.secret === undefined || signingKey(config.secret) !== undefined;
  return [
    ...urlFaults(config.webhookUrl),
    ...(config.headers ?? []).flatMap(headerFaults),
    ...(secret ? [] : [{ path: "/secret", message: expectedKey }]),
    ...(sendsQuery(config) ? queryFaults(config) : []),
  ];
}

/** Whether events go out in the query of the URL. */
export function sendsQuery({ webhookMethod }: WebhookConfig): boolean {
  return webhookMethod === "GET" || webhookMethod === "DELETE";
}

/** Faults of settings that only a request with a body can have. */
function queryFaults({ batchSize = 1, secret, webhookMethod }: WebhookConfig): Detail[] {
  const without = (path: string, what: string) => [
    { path, message: `Expected ${what} with ${webhookMethod}, which has no body` },
  ];
  return [
    ...(batchSize === 1 ? [] : without("/batchSize", "1")),
    ...(secret === undefined ? [] : without("/secret", "no signature")),
  ];
}

const expectedKey = "Expected base64 of 24 to 64 bytes after whsec_";

function urlFaults(url: string): Detail[] {
  try {
    checkedUrl(url);
    return [];
  } catch (error) {
    if (!(error instanceof EgressRefused)) throw error;
    return [{ path: "/webhookUrl", message: error.message }];
  }
}

function headerFaults({ from, to }: { from: string; to: string }, index: number): Detail[] {
  const path = `/headers/${index}`;
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(from)) {
    return [{ path: `${path}/from`, message: "Expected a header name" }];
  }
  if (ours.has(from.toLowerCase())) {
    return [{ path: `${path}/from`, message: "Expected a header that the service does not set" }];
  }
  // Visible ASCII, blanks and tabs: a line break would end the header (RFC 9110 §5.5).
  if (!/^[\t\x20-\x7e]*$/.test(to)) {
    return [{ path: `${path}/to`, message: "Expected printable ASCII characters" }];
  }
  return [];
}
