import type { Connection, Destination } from "../../catalog/model.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import {
  createRoutes,
  decideReplay,
  decideRoute,
  type RouteDecision,
  type Routes,
} from "../model/routes.ts";

/** The current routes of a lane, and its decisions by them. */
export class LaneRoutes {
  #current: Routes;
  #isRemoved = false;

  constructor(destination: Destination, connections: readonly Connection[]) {
    this.#current = createRoutes(destination, connections);
  }

  /**
   * The routes; another object after every change, so that an event can tell by which it was
   * checked.
   */
  get current(): Routes {
    return this.#current;
  }

  get destination(): Destination {
    return this.#current.destination;
  }

  /**
   * Replaces the routes. Returns the ids of the connections that ended; undefined if nothing
   * changed.
   */
  update(destination: Destination, connections: readonly Connection[]): string[] | undefined {
    const routes = createRoutes(destination, connections);
    if (Bun.deepEquals(routes, this.#current)) return undefined;
    const ids = this.#current.bySource.values().map(({ id }) => id);
    const ended = [...ids].filter((id) => !connections.some((connection) => connection.id === id));
    this.#current = routes;
    return ended;
  }

  /** Makes the lane decide again about events that it has decided to send. */
  invalidate(): void {
    this.#current = { ...this.#current };
  }

  /** Discards all events from now on: the destination is gone. */
  remove(): void {
    this.#isRemoved = true;
    this.invalidate();
  }

  /** Decides whether an event is to be sent; `isReplaying` tells whether a replay still runs. */
  decide(event: LaneEvent, isReplaying: (replayId: string) => boolean): RouteDecision {
    if (this.#isRemoved) return { kind: "discard" };
    const { origin, input } = event;
    if ("replayId" in origin && !isReplaying(origin.replayId)) return { kind: "discard" };
    const decision =
      "connectionId" in origin
        ? decideRoute(this.#current, input.sourceId, origin)
        : decideReplay(this.#current);
    if (decision.kind === "send") event.checkedRoutes = this.#current;
    return decision;
  }
}
