import type { Alert, AlertKind } from "../../../catalog/alerts/model.ts";
import type { RouteDeps } from "../../deps.ts";
import { isoTime } from "../../schema/common.ts";
import type { OverviewProblem } from "./problems.ts";

/**
 * Kinds of alerts that the overview lists as problems. An alert of another kind has a cause that
 * the overview lists already, such as a failing destination.
 */
const kindsOfOwn = new Set<AlertKind>(["lag", "source-silent", "nodes-missing", "disk"]);

/**
 * Returns a problem for each open alert whose cause the overview does not list otherwise, and for
 * each receiver that notifications do not reach.
 */
export function alertProblems(
  { catalog }: Pick<RouteDeps, "catalog">,
  workspaceId: string,
): OverviewProblem[] {
  const { alerts } = catalog;
  const open = alerts.open(workspaceId).filter(({ kind }) => kindsOfOwn.has(kind));
  const failing = alerts.receivers.list(workspaceId, 1).items.flatMap(({ id, name, enabled }) => {
    const { failingSince, reason } = alerts.receivers.state(id);
    if (!enabled || failingSince === undefined) return [];
    const message = `Alerts do not reach ${name}: ${reason}`;
    const since = isoTime(failingSince);
    return [{ kind: "alert-receiver" as const, message, receiverId: id, since }];
  });
  return [...open.map(alertProblem), ...failing];
}

function alertProblem({ message, subject, createdAt }: Alert): OverviewProblem {
  const { type, id } = subject;
  return {
    kind: "alert",
    message,
    ...(type === "destination" && { destinationId: id }),
    ...(type === "source" && { sourceId: id }),
    since: isoTime(createdAt),
  };
}
