import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";
import type { TestStep } from "./test-steps.ts";

/** How a delivery ended. */
export type Verdict =
  /** But for those that `refused` has, by index, with the reason: they are dead letters at once. */
  | { kind: "delivered"; refused?: ReadonlyMap<number, string> }
  /**
   * The receiver will never take it (a 4xx): a dead letter at once. Of several events each is tried
   * alone then, which shows the one that is wrong.
   */
  | { kind: "rejected"; reason: string }
  /** It may work later; `afterMs` is the receiver's own wish (`Retry-After`). */
  | { kind: "retry"; reason: string; afterMs?: number };

/** What an event was when it came in: code that ran over it since has not changed this. */
export interface Received {
  /** A UUID; all that code made of one event shares it, and every repetition of its delivery. */
  readonly messageId: string;
  readonly sourceId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** As RudderStack calls it: `page`, `track`, … */
  readonly type: string;
}

/** One event of a delivery. */
export interface Outgoing {
  /** JSON text in UTF-8: what code made of it, or as it came. */
  readonly bytes: Uint8Array;
  readonly input: Received;
}

/** One open destination. Deliveries may run at once; each settles within the kind's timeout. */
export interface OpenDestination {
  /**
   * Delivers events in their order, all or none as far as the receiver allows. Never rejects: what
   * goes wrong is a verdict. `signal` ends it early as `retry`.
   *
   * An event may come again, after a crash among other events than before; its `input` is the same.
   */
  deliver(events: readonly Outgoing[], signal: AbortSignal): Promise<Verdict>;
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
  /**
   * Tries a config out, step by step up to the first that fails, and takes away what it wrote where
   * that can be. Never rejects; `signal` ends it early, as a step that failed.
   */
  test(
    config: Record<string, unknown>,
    workspaceId: string,
    signal: AbortSignal,
  ): Promise<TestStep[]>;
}
