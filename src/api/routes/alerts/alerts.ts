import { type Static, Type } from "@sinclair/typebox";
import type { Alert as StoredAlert } from "../../../catalog/alerts/model.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import { pagingOf } from "../../response/paging.ts";
import { readsEvents, route } from "../../route.ts";
import { answerOf, paged, pageQuery, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { AlertKindSchema } from "./rules.ts";

const State = oneOf(["open", "ended"]);

const Alert = component("Alert", {
  id: Type.String(),
  state: State,
  kind: AlertKindSchema,
  rule: Type.Object({ id: Type.String(), name: Type.String() }),
  subject: Type.Object(
    {
      type: oneOf(["destination", "transformation", "source", "server", "node"]),
      id: Type.String(),
      name: Type.String(),
    },
    { description: "What the alert is about" },
  ),
  message: Type.String(),
  beganAt: Time,
  endedAt: Type.Optional(Time),
  notifications: Type.Array(
    Type.Object({
      receiverId: Type.String(),
      phase: oneOf(["begin", "end"]),
      state: oneOf(["pending", "sent", "failed", "dropped"], {
        description: "dropped: the alert ended first, or the receiver was removed",
      }),
      attempts: Type.Integer(),
      reason: Type.Optional(text("Why the last attempt failed")),
    }),
  ),
});

export const alertRoutes = [
  route("GET /v2/alerts", {
    summary:
      "List alerts: those that are open, then a bounded number that have ended, each newest first",
    ...readsEvents,
    query: { ...pageQuery, state: Type.Optional(State) },
    answer: paged("alerts", Alert),
    example: { answer: { alerts: [example.alert], paging: { total: 1 } } },
    handle({ deps, workspaceId, query: { page = 1, state } }) {
      const found = deps.catalog.alerts.list(workspaceId, page, state);
      return {
        alerts: found.items.map(alertAnswer),
        paging: pagingOf("/alerts", page, found, { state }),
      };
    },
  }),
] as const;

function alertAnswer(alert: StoredAlert): Static<typeof Alert> {
  return answerOf(Alert, {
    ...alert,
    state: alert.endedAt === undefined ? "open" : "ended",
    rule: { id: alert.ruleId, name: alert.ruleName },
    beganAt: alert.createdAt,
    notifications: alert.notifications.map(({ claim: _, accepted: _a, ...shown }) => shown),
  });
}
