import { type Static, Type } from "@sinclair/typebox";
import { PAGERDUTY_URL } from "../../../alerts/receivers/http.ts";
import { NO_MAIL_SERVER } from "../../../alerts/receivers/send.ts";
import { firstRules } from "../../../alerts/rule-kinds.ts";
import {
  type AlertReceiverInput,
  type ReceiverType,
  receiverTypes,
  type AlertReceiver as StoredReceiver,
} from "../../../catalog/alerts/model.ts";
import { checkedUrl } from "../../../egress/egress.ts";
import { type Detail, messageOf } from "../../../errors.ts";
import {
  ALERT_ADDRESSES_MAX,
  ALERT_SECRET_CHARS_MAX,
  EMAIL_CHARS_MAX,
} from "../../../settings/limits.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import type { RouteDeps } from "../../deps.ts";
import { expectNone } from "../../request/validation.ts";
import { route } from "../../route.ts";
import {
  answerOf,
  Name,
  nullable,
  pageQuery,
  SecretsSet,
  strict,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "../resources/resource.ts";
import { isOperators } from "./alert-facts.ts";

const ReceiverTypeSchema = oneOf(receiverTypes);
const Addresses = Type.Array(Type.String({ format: "email", maxLength: EMAIL_CHARS_MAX }), {
  minItems: 1,
  maxItems: ALERT_ADDRESSES_MAX,
  description: "Addresses of a receiver of the type email",
});

const AlertReceiver = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: ReceiverTypeSchema,
    enabled: Type.Boolean(),
    host: Type.Optional(text("Host of the URL, which is write-only")),
    to: Type.Optional(Type.Array(Type.String())),
    secretsSet: SecretsSet,
    sentAt: Type.Optional({ ...Time, description: "Time of the last accepted notification" }),
    failingSince: Type.Optional({ ...Time, description: "No notification was accepted since" }),
    reason: Type.Optional(text("Why the last attempt failed")),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: "AlertReceiver", description: "URL, routing key and authorization are write-only" },
);

const secret = (description: string) =>
  Type.String({ minLength: 1, maxLength: ALERT_SECRET_CHARS_MAX, writeOnly: true, description });
const secrets = {
  url: secret(
    `Slack's webhook, a webhook, or another address of PagerDuty's Events API than ${PAGERDUTY_URL}`,
  ),
  routingKey: secret("Integration key of PagerDuty's Events API v2"),
  authorization: secret("Value of the header Authorization that a webhook gets"),
};
const secretKeys = Object.keys(secrets) as (keyof typeof secrets)[];
const NewAlertReceiver = Type.Object(
  {
    name: Name,
    type: ReceiverTypeSchema,
    enabled: Type.Optional(Type.Boolean()),
    ...Type.Partial(Type.Object(secrets)).properties,
    to: Type.Optional(Addresses),
  },
  {
    ...strict,
    $id: "NewAlertReceiver",
    description:
      "slack and webhook have a url, pagerduty a routingKey, email addresses in `to`. A workspace's first receiver also creates rules with default values",
  },
);
const AlertReceiverChange = Type.Object(
  {
    name: Type.Optional(Name),
    enabled: Type.Optional(Type.Boolean()),
    url: Type.Optional(nullable(secrets.url)),
    routingKey: Type.Optional(nullable(secrets.routingKey)),
    authorization: Type.Optional(nullable(secrets.authorization)),
    to: Type.Optional(Addresses),
  },
  {
    ...strict,
    $id: "AlertReceiverChange",
    description:
      "An absent field keeps its value; null removes a secret. A URL of another host or scheme needs the other secrets again",
  },
);

/** Settings that a receiver of each type has. A `?` marks an optional one. */
const settingsOf: Record<ReceiverType, readonly string[]> = {
  slack: ["url"],
  pagerduty: ["routingKey", "url?"],
  webhook: ["url", "authorization?"],
  email: ["to"],
};

const receivers = resource({
  singular: "receiver",
  plural: "receivers",
  path: "alerts/receivers",
  schema: AlertReceiver,
  example: example.alertReceiver,
  answer: receiverAnswer,
  // The result of a notification is no change of the receiver.
  state: ({ sentAt: _, failingSince: _f, reason: _r, ...settings }) => settings,
  table: (catalog) => catalog.alerts.receivers,
});

export const alertReceiverRoutes = [
  receivers.list({
    summary: "List the receivers of alerts, with the result of the last notification",
    query: pageQuery,
  }),
  receivers.create({
    summary: "Create a receiver of alerts",
    readsInChange: false,
    body: NewAlertReceiver,
    example: {
      name: example.alertReceiver.name,
      type: "slack",
      url: "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXX",
    },
    async create({ deps, workspaceId, body }) {
      const { name, enabled = true, ...rest } = body;
      const input = validReceiver({ ...rest, name: name.trim(), enabled }, deps);
      const nodes = (await deps.nodes?.())?.nodes?.length ?? 1;
      const rules = firstRules(isOperators(deps, workspaceId), nodes);
      return deps.catalog.alerts.receivers.create(workspaceId, input, rules);
    },
  }),
  receivers.retrieve(),
  receivers.update({
    summary: "Change a receiver of alerts",
    body: AlertReceiverChange,
    example: { enabled: false },
    update: ({ deps, workspaceId, params, body }) =>
      deps.catalog.alerts.receivers.update(workspaceId, params.id, (before) =>
        validReceiver(changed(before, body), deps, before),
      ),
  }),
  receivers.remove("Delete a receiver of alerts; what waits to be sent to it is dropped"),

  route("POST /v2/alerts/receivers/{id}/test", {
    summary: "Send a test notification to a receiver of alerts",
    audit: "none",
    isLong: true,
    needs: ["workspace:admin"],
    answer: component("AlertTest", {
      ok: Type.Boolean({ description: "Whether the receiver accepted it" }),
      message: Type.Optional(text("Why it did not")),
    }),
    example: {
      params: { id: example.alertReceiver.id },
      answer: { ok: false, message: "HTTP 404 from receiver" },
    },
    async handle({ deps, workspaceId, params, closing }) {
      const receiver = deps.catalog.alerts.receivers.get(workspaceId, params.id);
      using _permit = deps.limiters.connectionTests.acquire(workspaceId);
      const result = await deps.alerts.test(receiver, closing);
      return result.kind === "sent" ? { ok: true } : { ok: false, message: result.reason };
    },
  }),
] as const;

/**
 * Applies the changes of a request to a stored receiver, and returns the result. Throws if a stored
 * secret would be sent to another host, port or scheme than before.
 */
function changed(before: AlertReceiverInput, change: Static<typeof AlertReceiverChange>) {
  const all = { ...before, ...change, name: change.name?.trim() ?? before.name };
  const after = Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== null),
  ) as unknown as AlertReceiverInput;
  const address = addressOf(after);
  // `validReceiver` refuses a URL that does not parse.
  const isMoved = address !== null && address.origin !== addressOf(before)?.origin;
  const faults = (["routingKey", "authorization"] as const)
    .filter((key) => isMoved && before[key] !== undefined && change[key] === undefined)
    .map((key): Detail => {
      const message = "Expected the secret again, since the stored one is for another address";
      return { path: `/${key}`, message };
    });
  expectNone(faults);
  return after;
}

/**
 * Returns the receiver unchanged. Throws if a setting is missing or invalid, or belongs to
 * receivers of another type. `before` is the stored receiver that the request changes.
 */
function validReceiver(
  input: AlertReceiverInput,
  { alerts }: RouteDeps,
  before?: AlertReceiverInput,
): AlertReceiverInput {
  const { type, url } = input;
  const known = settingsOf[type];
  const faults: Detail[] = [];
  for (const key of [...secretKeys, "to"] as const) {
    const isGiven = input[key] !== undefined;
    if (known.includes(key) && !isGiven) {
      faults.push({ path: `/${key}`, message: `Expected a value for the type ${type}, got none` });
    } else if (isGiven && !known.includes(key) && !known.includes(`${key}?`)) {
      faults.push({ path: `/${key}`, message: `Expected none for the type ${type}, got one` });
    }
  }
  if (url !== undefined) faults.push(...urlFaults(url));
  if (input.authorization !== undefined && /[^\t\x20-\x7e]/.test(input.authorization)) {
    faults.push({ path: "/authorization", message: "Expected printable ASCII characters only" });
  }
  // An operator may remove the setting later. Then the receiver can still be renamed or disabled.
  const needsServer = before === undefined || (input.enabled && isSentElsewhere(before, input));
  if (type === "email" && needsServer && !alerts.hasMailServer()) {
    faults.push({ path: "/type", message: NO_MAIL_SERVER });
  }
  expectNone(faults);
  return input;
}

/** Whether a change enables or disables a receiver, or gives it other addresses. */
function isSentElsewhere(before: AlertReceiverInput, after: AlertReceiverInput): boolean {
  return !Bun.deepEquals([before.enabled, before.to], [after.enabled, after.to]);
}

function urlFaults(url: string): Detail[] {
  try {
    checkedUrl(url);
    return [];
  } catch (error) {
    return [{ path: "/url", message: messageOf(error) }];
  }
}

function addressOf({ type, url }: Pick<StoredReceiver, "type" | "url">): URL | null {
  return type === "email" ? null : URL.parse(url ?? PAGERDUTY_URL);
}

function receiverAnswer(
  receiver: StoredReceiver,
  { catalog }: RouteDeps,
): Static<typeof AlertReceiver> {
  return answerOf(AlertReceiver, {
    ...receiver,
    ...catalog.alerts.receivers.state(receiver.id),
    host: addressOf(receiver)?.host,
    secretsSet: secretKeys.filter((key) => receiver[key] !== undefined).map((key) => `/${key}`),
  });
}
