import type { Connection, Destination } from "../../catalog/model.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import {
  createRoutes,
  decideReplay,
  decideRoute,
  type RouteDecision,
  type Routes,
} from "../model/routes.ts";
import type { LaneReplays } from "../replays/lane-replays.ts";

/** The connections of one destination, by source. They decide which events are sent. */
export class LaneRoutes {
  /**
   * The routes that `current` returns; undefined until its first call, because most destinations
   * are idle and never need them.
   */
  #current: Routes | undefined;
  #isRemoved = false;

  constructor(
    public destination: Destination,
    public connections: readonly Connection[],
  ) {}

  /**
   * The current routes: a new object after each change or call of `invalidate`. An event whose
   * `checkedRoutes` is the current object need not be checked again.
   */
  get current(): Routes {
    this.#current ??= createRoutes(this.destination, this.connections);
    return this.#current;
  }

  /**
   * Replaces the destination and its connections by the given ones. Returns the ids of the
   * connections that were removed, or undefined when nothing has changed.
   */
  update(destination: Destination, connections: readonly Connection[]): string[] | undefined {
    const before = [this.destination, this.connections];
    if (Bun.deepEquals([destination, connections], before)) return undefined;
    const ids = this.connections.map(({ id }) => id);
    this.destination = destination;
    this.connections = connections;
    this.#current = undefined;
    return ids.filter((id) => !connections.some((connection) => connection.id === id));
  }

  /** Makes the lane decide about each waiting event again before it is sent. */
  invalidate(): void {
    this.#current = { ...this.current };
  }

  /** Makes every later decision "discard", because the destination was deleted or disconnected. */
  remove(): void {
    this.#isRemoved = true;
    this.invalidate();
  }

  /**
   * Decides whether an event is sent, discarded or refused. Discards a replayed event whose job has
   * ended. While the destination is disabled, discards all replayed events; their job sends them
   * once the destination is enabled again.
   */
  decide(event: LaneEvent, replays: Pick<LaneReplays, "isRunning">): RouteDecision {
    if (this.#isRemoved) return { kind: "discard" };
    const { origin, input } = event;
    if ("replayId" in origin) {
      // The job has ended; or it waits while the destination is disabled, and takes the event back.
      const isSent = replays.isRunning(origin.replayId) && this.destination.enabled;
      if (!isSent) return { kind: "discard" };
    }
    const decision =
      "connectionId" in origin
        ? decideRoute(this.current, input.sourceId, origin)
        : decideReplay(this.current);
    if (decision.kind === "send") event.checkedRoutes = this.current;
    return decision;
  }
}
