import type { AlertFacts, ServerFacts, SourceFacts } from "../../../alerts/facts.ts";
import type { StatusDeps } from "../status/local-status.ts";
import { nodesHealth } from "../status/node-status.ts";
import { type WorkspaceState, workspaceState } from "../status/workspace-state.ts";

/**
 * States in which a destination reads no events at present, or in which this node does not know
 * whether it does. A destination in such a state cannot show whether its sources send events.
 */
const notReading = new Set<string>(["paused", "unconnected", "unknown", "blocked", "external"]);
/**
 * Maximum lag, in seconds, at which a destination counts as reading the newest events. A
 * destination with a larger lag reads older events, so it does not show whether its sources send
 * any at present.
 */
const READING_LAG_SECONDS_MAX = 60;

/**
 * Returns the facts by which a workspace's alert rules are evaluated. They come from the state that
 * the console shows. Facts about the whole server are included only for the operator's workspace.
 */
export async function alertFacts(deps: StatusDeps, workspaceId: string): Promise<AlertFacts> {
  const state = await workspaceState(deps, workspaceId);
  const server = isOperators(deps, workspaceId) && (await serverFacts(deps, workspaceId, state));
  return {
    isComplete: state.missingNodes.length === 0,
    destinations: state.destinations.filter(({ deliveredBy }) => deliveredBy === "pixelmill"),
    transformations: state.code,
    sources: sourceFacts(state),
    ...(server && { server }),
  };
}

/**
 * Whether a workspace is the operator's workspace, which is the oldest workspace of the server. The
 * operator has access to this workspace by the admin token, which the server prints or takes from
 * the setting `admin.token`.
 */
export function isOperators({ catalog }: Pick<StatusDeps, "catalog">, workspaceId: string) {
  return catalog.workspaces.list(1)[0]?.id === workspaceId;
}

type Items = Pick<WorkspaceState, "sources" | "connections" | "destinations">;

/** Returns the facts about the sources of a workspace, from the workspace's present state. */
export function sourceFacts({ sources, connections, destinations }: Items): SourceFacts[] {
  const reading = new Set(
    destinations
      .filter((it) => !notReading.has(it.state) && it.lagSeconds <= READING_LAG_SECONDS_MAX)
      .map(({ id }) => id),
  );
  const observed = new Set(
    connections
      .filter((it) => it.enabled && reading.has(it.destinationId))
      .map(({ sourceId }) => sourceId),
  );
  return sources.map((source) => ({ ...source, isObserved: observed.has(source.id) }));
}

async function serverFacts(
  deps: StatusDeps,
  workspaceId: string,
  { troubles, warnings }: WorkspaceState,
): Promise<ServerFacts> {
  const { byNode, missingNodes } = await nodesHealth(deps, workspaceId);
  const isAskable = deps.others?.trouble?.() === undefined;
  return {
    troubles,
    warnings,
    ...(isAskable && { nodes: byNode.size }),
    missingNodes,
    disks: [...byNode].flatMap(([node, { disk }]) => (disk ? [{ node, ...disk }] : [])),
  };
}
