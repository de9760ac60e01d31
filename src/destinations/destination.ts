import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";

/** How a delivery ended. */
export type Verdict =
  | { kind: "delivered" }
  /** The receiver will never take it (a 4xx): a dead letter at once. */
  | { kind: "rejected"; reason: string }
  /** It may work later; `afterMs` is the receiver's own wish (`Retry-After`). */
  | { kind: "retry"; reason: string; afterMs?: number };

/** One open destination. Deliveries may run at once; each settles within the kind's timeout. */
export interface OpenDestination {
  /**
   * Delivers events (JSON texts in UTF-8) in their order, all or none as far as the receiver
   * allows. Never rejects: what goes wrong is a verdict. `signal` ends it early as `retry`.
   */
  deliver(events: readonly Uint8Array[], signal: AbortSignal): Promise<Verdict>;
  close(): Promise<void>;
}

/** One kind of destination: `webhook`, `file`. A factory of plain objects. */
export interface DestinationKind {
  kind: string;
  /** The shape of `config`: a key that it does not have is refused. */
  configSchema: TSchema;
  /** Everything that is wrong with a config, schema included; paths are pointers inside it. */
  validate(config: Record<string, unknown>): Detail[];
  /**
   * Keys of `config` that are write-only: never answered, kept when an update omits them.
   * `headers.to` is the key `to` of each item of `headers`: answered empty, kept when it is empty.
   */
  secretKeys: readonly string[];
  /** Most events of one delivery, from 1. */
  batchSize(config: Record<string, unknown>): number;
  /** Deliveries that may be under way at once, from 1 to `LANE_DELIVERIES_MAX`. */
  concurrency(config: Record<string, unknown>): number;
  open(config: Record<string, unknown>, workspaceId: string): OpenDestination;
}
