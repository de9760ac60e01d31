import type { ShownAnswer } from "../../destinations/answers/receiver-answer.ts";
import { RECENT_EVENTS_MAX } from "../../settings/limits.ts";
import type { EventOutcome } from "../model/lane-event.ts";
import type { Trimmable } from "./shared-bytes.ts";

export type FinalOutcome = Exclude<EventOutcome["kind"], "discarded">;

/** The final outcome of an event at a destination, as it is kept in memory. */
export interface KeptOutcome {
  sourceId: string;
  messageId: string;
  receivedAt: number;
  at: number;
  /**
   * The event as user code made it for the destination, or as received if no code changed it, as
   * JSON. Undefined when it was too long.
   */
  json: Uint8Array | undefined;
  /** The event as received, as JSON; undefined when equal to `json` or too long to be kept. */
  received: Uint8Array | undefined;
  reason?: string;
  response?: ShownAnswer;
}

/** Approximate bytes of memory that one `KeptOutcome` takes besides its JSON and its strings. */
const OVERHEAD_BYTES = 600;

/** The latest events with one outcome at one destination, oldest first. */
export class OutcomeList implements Trimmable {
  readonly outcomes: KeptOutcome[] = [];
  bytes = 0;

  constructor(
    readonly outcome: FinalOutcome,
    readonly destinationId: string,
  ) {}

  push(outcome: KeptOutcome): void {
    this.outcomes.push(outcome);
    this.bytes += sizeOf(outcome);
    if (this.outcomes.length > RECENT_EVENTS_MAX) this.#shift();
  }

  trimTo(bytesMax: number): void {
    while (this.bytes > bytesMax) this.#shift();
  }

  #shift(): void {
    this.bytes -= sizeOf(this.outcomes.shift()!);
  }
}

function sizeOf({ json, received, messageId, reason = "", response }: KeptOutcome): number {
  const chars = messageId.length + reason.length + (response?.body?.length ?? 0);
  return (json?.length ?? 0) + (received?.length ?? 0) + OVERHEAD_BYTES + 2 * chars;
}
