import type { Live } from "../catalog/live.ts";
import type { Destination } from "../catalog/model.ts";
import type { ShownAnswer } from "../destinations/answers/receiver-answer.ts";
import { type LogInput, parseFromNode, parseJsonOrText, shownOutput } from "./model/input-event.ts";
import type { EventOutcome, Output } from "./model/lane-event.ts";
import type { LogSet } from "./reading/shared-reader.ts";

/** A message to viewers of the live tail: an event was received, or got its final outcome. */
export interface TailMessage {
  stage: "received" | "delivered" | "dropped" | "dead-letter";
  sourceId: string;
  destinationId?: string;
  /** Time at which the event was received or got its outcome, in milliseconds since the epoch. */
  at: number;
  /** Time of receipt in ms since the epoch. Absent in messages from nodes of older versions. */
  receivedAt?: number;
  messageId: string;
  event?: unknown;
  reason?: string;
  /** The answer of the receiver to an event that became a dead letter. */
  response?: ShownAnswer | undefined;
}

export interface TailSubscriptions {
  /**
   * Calls `receive` with each message about the workspace's events that is published after this
   * call. Returns a function that ends the subscription. Messages are not stored, so a slow
   * subscriber misses some of them.
   */
  subscribe(workspaceId: string, receive: (message: TailMessage) => void): () => void;
}

type Receive = (message: TailMessage) => void;

/**
 * Exchanges messages about events with other nodes, so that a subscriber sees the events of all
 * nodes.
 */
export interface RemoteTail {
  /** Whether another node has a subscriber to this workspace. */
  hasSubscriber(workspaceId: string): boolean;
  readonly hasSubscribers: boolean;
  publish(workspaceId: string, message: TailMessage): void;
  subscribe(workspaceId: string, receive: Receive): () => void;
  /** Calls the listener whenever a subscription begins at another node. */
  onSubscribed(listener: () => void): void;
}

/**
 * Sends messages to a workspace's viewers: one when an event is received, and one when an output
 * (an event for one destination) gets its final outcome. Reads new log records only while any node
 * has a viewer.
 */
export class LiveTail implements TailSubscriptions {
  readonly #subscribers = new Map<string, Set<Receive>>();
  readonly #positions = new Map<string, number>();
  #reading = false;
  #more = false;
  /** Whether the tail is reading the logs for messages about received events. */
  #isFollowing = false;

  constructor(
    readonly logs: LogSet,
    readonly live: Pick<Live, "sourceById">,
    readonly remote?: RemoteTail | undefined,
    /**
     * Names of event members whose values may be credentials if user code wrote them. Messages
     * leave these members out of events that user code made, and keep them in other events.
     */
    readonly overrideMembers: readonly string[] = [],
  ) {
    remote?.onSubscribed(() => this.#follow());
  }

  subscribe(workspaceId: string, receive: Receive): () => void {
    this.#follow();
    const receivers = this.#subscribers.getOrInsertComputed(workspaceId, () => new Set());
    // A new function, so that one receiver may subscribe twice.
    const subscription: Receive = (message) => receive(message);
    receivers.add(subscription);
    const unsubscribe = this.remote?.subscribe(workspaceId, ({ event, ...message }) =>
      subscription({ ...message, event: parseFromNode(event) }),
    );
    return () => {
      unsubscribe?.();
      receivers.delete(subscription);
      if (receivers.size === 0 && this.#subscribers.get(workspaceId) === receivers) {
        this.#subscribers.delete(workspaceId);
      }
    };
  }

  hasSubscriber(workspaceId: string): boolean {
    if (this.#subscribers.size > 0 && this.#subscribers.has(workspaceId)) return true;
    return this.remote?.hasSubscriber(workspaceId) ?? false;
  }

  publish(workspaceId: string, message: TailMessage): void {
    for (const receive of this.#subscribers.get(workspaceId) ?? []) {
      try {
        receive(message);
      } catch {
        // A subscriber's error must not stop the events.
      }
    }
    if (!this.remote?.hasSubscriber(workspaceId)) return;
    // The event is sent as text, because messages between nodes would round large integers.
    this.remote.publish(workspaceId, { ...message, event: JSON.stringify(message.event) });
  }

  /**
   * Sends subscribers of the destination's workspace a message about the final outcome of each
   * output.
   */
  publishOutcomes(
    outputs: readonly Output[],
    outcome: Exclude<EventOutcome, { kind: "discarded" }>,
    { id, workspaceId }: Destination,
    at: number,
  ): void {
    if (!this.hasSubscriber(workspaceId)) return;
    for (const { laneEvent, bytes, byCode } of outputs) {
      this.publish(workspaceId, {
        stage: outcome.kind,
        sourceId: laneEvent.input.sourceId,
        destinationId: id,
        at,
        receivedAt: laneEvent.input.receivedAt,
        messageId: laneEvent.input.messageId,
        event: byCode ? shownOutput(bytes, this.overrideMembers) : parseJsonOrText(bytes),
        ...(outcome.kind === "dead-letter" && {
          reason: outcome.reason,
          ...(outcome.response && { response: outcome.response }),
        }),
      });
    }
  }

  /** Publishes messages about newly durable records, if any node has a subscriber. */
  async advance(): Promise<void> {
    this.#isFollowing &&= this.#isWanted;
    if (!this.#isFollowing) return;
    this.#more = true;
    if (this.#reading) return;
    this.#reading = true;
    try {
      while (this.#more) {
        this.#more = false;
        for (const log of this.logs.names()) await this.#read(log);
      }
    } finally {
      this.#reading = false;
    }
  }

  get #isWanted(): boolean {
    return this.#subscribers.size > 0 || (this.remote?.hasSubscribers ?? false);
  }

  /**
   * Begins to read the logs at their current ends. Does nothing if the tail is reading them
   * already.
   */
  #follow(): void {
    if (this.#isFollowing && this.#isWanted) return;
    this.#isFollowing = true;
    this.#positions.clear();
    for (const log of this.logs.names()) this.#positions.set(log, this.logs.end(log));
  }

  async #read(log: string): Promise<void> {
    while (this.#isWanted) {
      const position = this.#positions.getOrInsertComputed(log, () => this.logs.end(log));
      const chunk = await this.logs.read(log, position);
      if (chunk === undefined) return;
      // All subscribers left during the read, and a new one came, which starts at the end.
      if (position !== this.#positions.get(log)) continue;
      // The tail need not show all events, so it skips a record of a newer version.
      const isHeld = chunk.newerAt !== undefined && chunk.next === position;
      this.#positions.set(log, isHeld ? this.logs.end(log) : chunk.next);
      const workspaces = new Map<string, string | undefined>();
      for (const id of chunk.sources) workspaces.set(id, this.live.sourceById(id)?.workspaceId);
      for (const input of chunk.inputs) {
        const workspaceId = workspaces.get(input.sourceId);
        if (
          input.sequence < position ||
          workspaceId === undefined ||
          !this.hasSubscriber(workspaceId)
        )
          continue;
        const event = shownEvent(input);
        // The tail need not show an event that cannot be built. The lanes log it.
        if (event === undefined) continue;
        this.publish(workspaceId, {
          stage: "received",
          sourceId: input.sourceId,
          at: input.receivedAt,
          receivedAt: input.receivedAt,
          messageId: input.messageId,
          event,
        });
      }
    }
  }
}

/** Returns the parsed event of `input`; undefined when it cannot be built from its record. */
function shownEvent(input: LogInput): unknown {
  try {
    return parseJsonOrText(input.event.json);
  } catch {
    return undefined;
  }
}
