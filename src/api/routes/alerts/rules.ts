import { type Static, Type } from "@sinclair/typebox";
import { isTimeZone } from "../../../alerts/quiet-hours.ts";
import { defaultRule, ruleKinds } from "../../../alerts/rule-kinds.ts";
import {
  type AlertKind,
  type AlertRuleInput,
  alertKinds,
  alertSubjects,
  isServerAlertKind,
  type AlertRule as StoredRule,
} from "../../../catalog/alerts/model.ts";
import type { Catalog } from "../../../catalog/catalog.ts";
import { defined } from "../../../defined.ts";
import type { Detail } from "../../../errors.ts";
import {
  ALERT_HOLD_SECONDS_MAX,
  ALERT_RECEIVERS_OF_WORKSPACE_MAX,
  ALERT_SUBJECTS_MAX,
} from "../../../settings/limits.ts";
import { component, oneOf } from "../../../settings/schema-types.ts";
import { expectNone, invalidValue } from "../../request/validation.ts";
import { route } from "../../route.ts";
import { answerOf, Id, Name, nullable, pageQuery, strict, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "../resources/resource.ts";
import { namedItems } from "../status/names.ts";
import { isOperators } from "./alert-facts.ts";

export const AlertKindSchema = oneOf(alertKinds, {
  description:
    "What the rule evaluates; the last four kinds are about the whole server, and only the first workspace has them",
});

const Subject = oneOf(["destination", "transformation", "source", "server"], {
  description: "Kind of the items that the rule evaluates, or the whole server",
});

const TimeOfDay = Type.String({
  pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$",
  "x-expected": "a time of day such as 22:00",
  description: "Such as 22:00",
});
const QuietHours = Type.Object(
  {
    from: TimeOfDay,
    to: TimeOfDay,
    timeZone: Type.String({ maxLength: 100, description: "IANA name, such as Europe/Berlin" }),
  },
  {
    ...strict,
    $id: "QuietHours",
    description:
      "Each day's period in which notifications wait; it may go past midnight. The end of an alert is sent to PagerDuty at once",
  },
);
const thresholds = alertKinds
  .flatMap((kind) => {
    const { threshold } = ruleKinds[kind];
    return threshold ? `${kind}: ${threshold.unit}, default ${threshold.fallback}` : [];
  })
  .join("; ");
const Threshold = Type.Integer({ minimum: 1, description: `Unit by kind: ${thresholds}` });
const HoldSeconds = (description: string) =>
  Type.Integer({ minimum: 0, maximum: ALERT_HOLD_SECONDS_MAX, description });
const fields = {
  forSeconds: HoldSeconds("Time for which the condition holds before an alert begins"),
  clearSeconds: HoldSeconds("Time for which the condition does not hold before an alert ends"),
  subjectIds: Type.Array(Id, {
    maxItems: ALERT_SUBJECTS_MAX,
    description: "Destinations, transformations or sources that the rule evaluates; empty for all",
  }),
  receiverIds: Type.Array(Id, {
    maxItems: ALERT_RECEIVERS_OF_WORKSPACE_MAX,
    description: "Receivers of the alerts; empty for all",
  }),
};

const AlertRule = component("AlertRule", {
  id: Type.String(),
  name: Type.String(),
  kind: AlertKindSchema,
  subject: Subject,
  enabled: Type.Boolean(),
  threshold: Type.Optional(Threshold),
  ...fields,
  quietHours: Type.Optional(QuietHours),
  createdAt: Time,
  updatedAt: Time,
});

const changeable = {
  name: Type.Optional(Name),
  enabled: Type.Optional(Type.Boolean()),
  threshold: Type.Optional(nullable(Threshold)),
  forSeconds: Type.Optional(nullable(fields.forSeconds)),
  clearSeconds: Type.Optional(nullable(fields.clearSeconds)),
  subjectIds: Type.Optional(fields.subjectIds),
  receiverIds: Type.Optional(fields.receiverIds),
  quietHours: Type.Optional(nullable(QuietHours)),
};
const NewAlertRule = Type.Object(
  { kind: AlertKindSchema, ...changeable },
  {
    ...strict,
    $id: "NewAlertRule",
    description: "What is absent or null gets the default value of the kind",
  },
);
const AlertRuleChange = Type.Object(changeable, {
  ...strict,
  $id: "AlertRuleChange",
  description:
    "An absent field keeps its value; null gives a number the default value of the kind, and removes the quiet hours",
});

const rules = resource({
  singular: "rule",
  plural: "rules",
  path: "alerts/rules",
  schema: AlertRule,
  example: example.alertRule,
  answer: (stored: StoredRule) =>
    answerOf(AlertRule, { ...stored, subject: alertSubjects[stored.kind] }),
  table: (catalog) => catalog.alerts.rules,
});

const RuleKind = component("AlertRuleKind", { kind: AlertKindSchema, subject: Subject });

export const alertRuleRoutes = [
  route("GET /v2/alerts/rule-kinds", {
    summary: "List the kinds of rules that this workspace may have",
    needs: ["workspace:admin"],
    answer: Type.Object({ kinds: Type.Array(RuleKind) }),
    example: { answer: { kinds: [{ kind: "lag", subject: "destination" }] } },
    handle: ({ deps, workspaceId }) => ({
      kinds: kindsFor(deps, workspaceId).map((kind) => ({ kind, subject: alertSubjects[kind] })),
    }),
  }),
  rules.list({
    summary: "List the rules by which alerts begin and end",
    query: pageQuery,
  }),
  rules.create({
    summary: "Create a rule by which alerts begin and end",
    readsInChange: false,
    body: NewAlertRule,
    example: { kind: "lag", threshold: 600 },
    create({ deps, workspaceId, body: { kind, ...change } }) {
      if (!kindsFor(deps, workspaceId).includes(kind)) {
        const message =
          "Expected a kind about the workspace, got one about the server, which only the first workspace has";
        throw invalidValue("/kind", message);
      }
      const rule = changed(defaultRule(kind), change);
      expectNone(subjectFaults(deps.catalog, workspaceId, rule));
      return deps.catalog.alerts.rules.create(workspaceId, rule);
    },
  }),
  rules.retrieve(),
  rules.update({
    summary: "Change a rule by which alerts begin and end",
    body: AlertRuleChange,
    example: { enabled: false },
    update: ({ deps, workspaceId, params, body }) =>
      deps.catalog.alerts.rules.update(workspaceId, params.id, (before) => {
        const after = changed(before, body);
        expectNone(subjectFaults(deps.catalog, workspaceId, after, before.subjectIds));
        return after;
      }),
  }),
  rules.remove("Delete a rule; its open alerts end"),
] as const;

/**
 * Returns the kinds of alert rules that a workspace is allowed to have. Only the operator's
 * workspace is allowed to have rules about the server.
 */
function kindsFor(deps: Parameters<typeof isOperators>[0], workspaceId: string): AlertKind[] {
  const isOfServer = isOperators(deps, workspaceId);
  return alertKinds.filter((kind) => isOfServer || !isServerAlertKind(kind));
}

/**
 * Applies the changes of a request to a stored rule, and returns the result. Throws if the result
 * is invalid.
 */
function changed(before: AlertRuleInput, change: Static<typeof AlertRuleChange>): AlertRuleInput {
  const { quietHours: quietBefore, ...kept } = before;
  const { quietHours = quietBefore, ...changes } = change;
  const { threshold, forSeconds, clearSeconds } = defaultRule(before.kind);
  const after: AlertRuleInput = {
    ...kept,
    ...defined({
      ...changes,
      threshold: changes.threshold === null ? threshold : changes.threshold,
      forSeconds: changes.forSeconds === null ? forSeconds : changes.forSeconds,
      clearSeconds: changes.clearSeconds === null ? clearSeconds : changes.clearSeconds,
    }),
    name: change.name?.trim() ?? before.name,
    ...(quietHours && { quietHours }),
  };
  expectNone(faultsOf(after));
  return after;
}

/**
 * Returns an error for each id in `subjectIds` that names no item of the workspace, or one for any
 * ids in a rule about the server. Accepts the ids in `before`, because their items may have been
 * removed since.
 */
function subjectFaults(
  catalog: Catalog,
  workspaceId: string,
  { kind, subjectIds }: AlertRuleInput,
  before: readonly string[] = [],
): Detail[] {
  const subject = alertSubjects[kind];
  if (subject === "server") {
    const message = `Expected none for the kind ${kind}, which is about the whole server, got some`;
    return subjectIds.length > 0 ? [{ path: "/subjectIds", message }] : [];
  }
  const found = namedItems(catalog, subject).withIds(workspaceId, subjectIds);
  const known = new Set([...before, ...found.map(({ id }) => id)]);
  const message = `Expected the id of a ${subject} of this workspace, got another id`;
  return subjectIds.flatMap((id, at) =>
    known.has(id) ? [] : [{ path: `/subjectIds/${at}`, message }],
  );
}

function faultsOf({ kind, threshold, quietHours }: AlertRuleInput): Detail[] {
  const faults: Detail[] = [];
  const unit = ruleKinds[kind].threshold;
  if (threshold !== undefined && unit === undefined) {
    faults.push({ path: "/threshold", message: `Expected none for the kind ${kind}, got one` });
  }
  if (threshold !== undefined && unit && (threshold < unit.min || threshold > unit.max)) {
    const message = `Expected ${unit.min} to ${unit.max} ${unit.unit}, got another number`;
    faults.push({ path: "/threshold", message });
  }
  if (quietHours !== undefined && !isTimeZone(quietHours.timeZone)) {
    const message = "Expected an IANA time zone such as Europe/Berlin, got another text";
    faults.push({ path: "/quietHours/timeZone", message });
  }
  if (quietHours !== undefined && quietHours.from === quietHours.to) {
    const message = "Expected another time than the beginning, got the same";
    faults.push({ path: "/quietHours/to", message });
  }
  return faults;
}
