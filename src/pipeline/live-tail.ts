import type { Live } from "../catalog/catalog.ts";
import type { Destination } from "../catalog/model.ts";
import type { Ending, Output } from "./item.ts";
import { jsonOf } from "./reading/input.ts";
import type { SharedReader } from "./reading/shared-reader.ts";

/** One event on its way, as the live tail shows it. */
export interface TailMessage {
  stage: "received" | "delivered" | "dropped" | "dead-letter";
  sourceId: string;
  destinationId?: string;
  at: number;
  messageId: string;
  event?: unknown;
  reason?: string;
}

export interface Tail {
  /**
   * Begins a subscription, and returns the function that ends it. A slow subscriber misses
   * messages; none is kept for it.
   */
  subscribe(workspaceId: string, receive: (message: TailMessage) => void): () => void;
}

type Receive = (message: TailMessage) => void;

/**
 * The live tail. No message is built unless `wants` says so, so that the tail costs one look-up
 * when nobody listens. `received` messages come from a reading of the tail's own, which runs only
 * while there is a subscriber and starts at the end of the log.
 */
export class LiveTail implements Tail {
  readonly #subscribers = new Map<string, Set<Receive>>();
  readonly #positions = new Map<string, number>();
  #reading = false;
  #more = false;

  constructor(
    readonly logs: SharedReader,
    readonly live: Pick<Live, "sourceById">,
  ) {}

  subscribe(workspaceId: string, receive: Receive): () => void {
    if (this.#subscribers.size === 0) this.#startAtEnd();
    const receivers = this.#subscribers.get(workspaceId) ?? new Set();
    // A new function, so that one receiver may subscribe twice.
    const subscription: Receive = (message) => receive(message);
    this.#subscribers.set(workspaceId, receivers.add(subscription));
    return () => {
      receivers.delete(subscription);
      if (receivers.size === 0 && this.#subscribers.get(workspaceId) === receivers) {
        this.#subscribers.delete(workspaceId);
      }
    };
  }

  wants(workspaceId: string): boolean {
    return this.#subscribers.size > 0 && this.#subscribers.has(workspaceId);
  }

  send(workspaceId: string, message: TailMessage): void {
    for (const receive of this.#subscribers.get(workspaceId) ?? []) {
      try {
        receive(message);
      } catch {
        // A subscriber's error must not stop the events.
      }
    }
  }

  /** Shows how an output ended. */
  settled({ item, bytes }: Output, ending: Ending, destination: Destination, at: number): void {
    const { id, workspaceId } = destination;
    if (ending.kind === "discarded" || !this.wants(workspaceId)) return;
    this.send(workspaceId, {
      stage: ending.kind,
      sourceId: item.input.sourceId,
      destinationId: id,
      at,
      messageId: item.input.messageId,
      event: jsonOf(bytes),
      ...(ending.kind === "dead-letter" && { reason: ending.reason }),
    });
  }

  /** There are more durable records. */
  async advance(): Promise<void> {
    if (this.#subscribers.size === 0) return;
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

  #startAtEnd(): void {
    this.#positions.clear();
    for (const log of this.logs.names()) this.#positions.set(log, this.logs.end(log));
  }

  async #read(log: string): Promise<void> {
    while (this.#subscribers.size > 0) {
      const position = this.#positions.get(log) ?? 0;
      const chunk = await this.logs.read(log, position);
      if (chunk === undefined) return;
      // All subscribers left during the read, and a new one came, who starts at the end.
      if (position !== (this.#positions.get(log) ?? 0)) continue;
      this.#positions.set(log, chunk.next);
      const workspaces = new Map<string, string | undefined>();
      for (const id of chunk.sources) workspaces.set(id, this.live.sourceById(id)?.workspaceId);
      for (const { sequence, input } of chunk.inputs) {
        const workspaceId = workspaces.get(input.sourceId);
        if (sequence < position || workspaceId === undefined || !this.wants(workspaceId)) continue;
        this.send(workspaceId, {
          stage: "received",
          sourceId: input.sourceId,
          at: input.receivedAt,
          messageId: input.messageId,
          event: jsonOf(input.event.json),
        });
      }
    }
  }
}
