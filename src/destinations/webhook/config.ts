import { type Static, Type } from "@sinclair/typebox";
import { checkedUrl } from "../../egress/egress.ts";
import type { Detail } from "../../errors.ts";
import { oneOf, optionalFlag, optionalInteger } from "../../settings/schema-types.ts";
import { configFaults, egressFaults } from "../config-faults.ts";
import { appliesWhen, essential, rudderstackKeys } from "../config-schema.ts";
import { headerNameFault, headerValueFault } from "./headers.ts";
import {
  OAUTH_TEXT_CHARS_MAX,
  WEBHOOK_BATCH_EVENTS_MAX,
  WEBHOOK_HEADER_NAME_CHARS_MAX,
  WEBHOOK_HEADER_VALUE_CHARS_MAX,
  WEBHOOK_HEADERS_MAX,
  WEBHOOK_SECRET_CHARS_MAX,
  WEBHOOK_TEMPLATE_CHARS_MAX,
  WEBHOOK_TIMEOUT_MS_DEFAULT,
  WEBHOOK_TIMEOUT_MS_MAX,
  WEBHOOK_URL_CHARS_MAX,
} from "./limits.ts";
import { signingKey } from "./signature.ts";
import { parseTemplate, TemplateError } from "./template.ts";

/**
 * Condition under which settings for request bodies have an effect: requests with the HTTP method
 * of the config have a body.
 */
const withBody = { webhookMethod: ["POST", "PUT", "PATCH"] } as const;
const methods = [...withBody.webhookMethod, "GET", "DELETE"] as const;

const Header = Type.Object({
  from: Type.String({
    minLength: 1,
    maxLength: WEBHOOK_HEADER_NAME_CHARS_MAX,
    description: "Header name",
  }),
  to: Type.String({ maxLength: WEBHOOK_HEADER_VALUE_CHARS_MAX, description: "Header value" }),
  secret: optionalFlag(
    "Whether answers hide the value; by default for names such as `Authorization` and `X-Api-Key`",
  ),
});

const oauthText = (description: string) =>
  Type.String({ minLength: 1, maxLength: OAUTH_TEXT_CHARS_MAX, description });

const Oauth = Type.Object(
  {
    tokenUrl: oauthText("URL that issues access tokens: https, or http of an allowed address"),
    clientId: oauthText("Client id at the token server"),
    clientSecret: oauthText("Write-only"),
    scope: Type.Optional(oauthText("Scopes of the token, separated by spaces")),
    audience: Type.Optional(oauthText("Audience of the token, if the token server requires one")),
    authStyle: Type.Optional(
      oneOf(["basic", "post"], {
        default: "basic",
        description: "Whether id and secret are sent in the header Authorization or in the form",
      }),
    ),
  },
  {
    title: "OAuth",
    description: "Access tokens by OAuth 2 client credentials",
    "x-expected": "an object with tokenUrl, clientId and clientSecret",
  },
);
export type OauthConfig = Static<typeof Oauth>;

const templateOf = (description: string) =>
  appliesWhen(
    withBody,
    Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: WEBHOOK_TEMPLATE_CHARS_MAX,
        description,
        contentMediaType: "application/json",
      }),
    ),
  );

export const WebhookConfig = Type.Object({
  ...rudderstackKeys,
  webhookUrl: Type.String({
    minLength: 1,
    maxLength: WEBHOOK_URL_CHARS_MAX,
    description: "URL that receives the events; a private address requires egress.allow",
    "x-expected": `an absolute http or https URL of at most ${WEBHOOK_URL_CHARS_MAX} characters`,
  }),
  secretUrl: optionalFlag(
    "Whether answers hide path and query of the URL; by default for known services such as Slack, " +
      "and of others the values of query parameters such as `api_secret`",
  ),
  webhookMethod: essential(
    oneOf(methods, {
      description: "GET and DELETE send the event's properties in the query, as RudderStack does",
      default: "POST",
    }),
  ),
  headers: essential(
    Type.Array(Header, {
      maxItems: WEBHOOK_HEADERS_MAX,
      "x-expected": `an array of at most ${WEBHOOK_HEADERS_MAX} objects with from and to, and perhaps secret`,
    }),
  ),
  batchSize: appliesWhen(
    withBody,
    optionalInteger(1, WEBHOOK_BATCH_EVENTS_MAX, {
      default: 1,
      description: "Max events per request: 1 sends an object, more send a JSON array",
    }),
  ),
  timeoutMs: optionalInteger(1, WEBHOOK_TIMEOUT_MS_MAX, {
    default: WEBHOOK_TIMEOUT_MS_DEFAULT,
    description: "Total timeout of a request in milliseconds, from the DNS query to the last byte",
  }),
  secret: appliesWhen(
    withBody,
    essential(
      Type.String({
        minLength: 1,
        maxLength: WEBHOOK_SECRET_CHARS_MAX,
        description: "Signs requests as Standard Webhooks does: whsec_ and base64, or any text",
      }),
    ),
  ),
  gzip: appliesWhen(withBody, optionalFlag("Whether bodies are sent compressed")),
  template: templateOf(
    "Body of one event: JSON in which {{event.properties.price}} stands for a value",
  ),
  batchTemplate: templateOf("Body around several: JSON in which {{events}} stands for their list"),
  oauth: Type.Optional(Oauth),
});
export type WebhookConfig = Static<typeof WebhookConfig>;

/** Returns all faults of a config. The path of a fault is a JSON pointer into the config. */
export function webhookFaults(config: Record<string, unknown>): Detail[] {
  const faults = configFaults(WebhookConfig, config);
  if (faults.length > 0) return faults;
  const { webhookUrl, headers, secret, template, batchTemplate, oauth } = config as WebhookConfig;
  const isKey = secret === undefined || signingKey(secret) !== undefined;
  return [
    ...egressFaults("/webhookUrl", () => checkedUrl(webhookUrl)),
    ...(headers ?? []).flatMap(headerFaults),
    ...(isKey ? [] : [{ path: "/secret", message: expectedKey }]),
    ...templateFaults("/template", template, "event"),
    ...templateFaults("/batchTemplate", batchTemplate, "events"),
    ...(oauth ? oauthFaults(oauth, headers) : []),
  ];
}

/** Whether events are sent in the query string of the URL instead of in a body. */
export function sendsQuery({ webhookMethod }: WebhookConfig): boolean {
  return webhookMethod === "GET" || webhookMethod === "DELETE";
}

function templateFaults(path: string, text: string | undefined, root: string): Detail[] {
  if (text === undefined) return [];
  try {
    const { placeholders } = parseTemplate(text, root);
    const isWhole =
      root === "event" || placeholders.some((placeholder) => placeholder.path.length === 0);
    return isWhole ? [] : [{ path, message: `Expected {{${root}}} in the template` }];
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return [{ path, message: error.message }];
  }
}

function oauthFaults({ tokenUrl }: OauthConfig, headers: WebhookConfig["headers"]): Detail[] {
  const own = headers?.findIndex(({ from }) => from.toLowerCase() === "authorization") ?? -1;
  const message = "Expected no header Authorization, which the access token needs";
  return [
    ...egressFaults("/oauth/tokenUrl", () => checkedUrl(tokenUrl)),
    ...(own < 0 ? [] : [{ path: `/headers/${own}/from`, message }]),
  ];
}

const expectedKey = "Expected base64 of 24 to 64 bytes after whsec_";

function headerFaults({ from, to }: { from: string; to: string }, index: number): Detail[] {
  const path = `/headers/${index}`;
  const name = headerNameFault(from);
  if (name !== undefined) return [{ path: `${path}/from`, message: name }];
  const value = headerValueFault(to);
  return value === undefined ? [] : [{ path: `${path}/to`, message: value }];
}
