import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";
import type { TestStep } from "./test-steps.ts";

/** The result of a delivery. */
export type DeliveryResult =
  /**
   * All events were delivered, except those in `refused`, which maps an event's index to a reason:
   * these become dead letters at once.
   */
  | { kind: "delivered"; refused?: ReadonlyMap<number, string> }
  /**
   * The receiver will never accept the delivery (a 4xx), so its events become dead letters. Several
   * events are first tried one by one, which isolates the wrong one.
   */
  | { kind: "rejected"; reason: string }
  /** The delivery may succeed later; `afterMs` is the delay that the receiver asks for. */
  | { kind: "retry"; reason: string; afterMs?: number };

/** The origin of an event: its properties at ingestion, which user code cannot change. */
export interface EventOrigin {
  /**
   * A UUID, shared by all outputs of user code for one event, and by all attempts to deliver
   * them.
   */
  readonly messageId: string;
  readonly sourceId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** RudderStack's event type: `page`, `track`, … */
  readonly type: string;
}

/** One event of a delivery. */
export interface OutgoingEvent {
  /** JSON text in UTF-8: an output of user code, or the event as ingested. */
  readonly bytes: Uint8Array;
  readonly input: EventOrigin;
  /** Whether user code produced the event; otherwise a client sent it. */
  readonly byCode: boolean;
}

/** Bounds of a batch that a kind accumulates into one large delivery. */
export interface BatchLimits {
  /** Bytes of JSON of one delivery, not counting its first event. */
  bytes: number;
  /**
   * Longest time for which an event waits for others of its delivery. With 0, waiting events are
   * delivered at once, and deliveries have no names.
   */
  ageMs: number;
}

/** An open destination. Deliveries may run concurrently; each settles within the kind's timeout. */
export interface OpenDestination {
  /**
   * Delivers events in their order, all or none as far as the receiver allows. Never rejects:
   * failures are results. `signal` ends the delivery early with `retry`.
   *
   * An event may be delivered again, after a crash together with other events; its `input` stays the
   * same.
   *
   * A kind with `batchLimits` has one delivery at a time, each with a unique name: ASCII letters,
   * digits, `.`, `_` and `-`, ascending with time. A further attempt at a delivery, also after a
   * crash, has the same name and holds all events of the attempts before it, except events that have
   * settled otherwise since; after a crash it may hold more. While an attempt may have succeeded,
   * its events get no other name. So an attempt that writes to a path made of the name and of its
   * events' `input` replaces what earlier attempts wrote there, and each event is stored once.
   * `rejected` settles all events of such a delivery: they are not tried one by one. Other kinds get
   * no name.
   */
  deliver(
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
    name?: string,
  ): Promise<DeliveryResult>;
  close(): Promise<void>;
}

/**
 * A write-only key of a config: never returned, and kept when an update omits it and sends it to no
 * other audience.
 */
export interface SecretKey<Config = Record<string, unknown>> {
  /**
   * `password`; `headers.to` is the key `to` of each item of the array `headers`: returned empty,
   * kept when it is empty; `oauth.clientSecret` is the key `clientSecret` of the object `oauth`.
   */
  path: string;
  /**
   * The receivers of the secret, or of what it signs. Throws when a config, such as one of an
   * earlier version, does not name them.
   */
  audiences(config: Config): SecretAudience[];
}

/** A receiver of a secret. */
export interface SecretAudience {
  /** `db.example.com:5432`, in lower case. */
  host: string;
  /** Whether TLS protects the secret on its way. */
  isTls: boolean;
  /** Purpose of the secret, where a config has several audiences; purposes are not interchangeable. */
  use?: string;
}

/**
 * One kind of destination: `webhook`, `file`. A factory of plain objects. Only `validate` gets an
 * unchecked config; all other functions get one that it has accepted.
 */
export interface DestinationKind<Config = Record<string, unknown>> {
  kind: string;
  /** Schema of `config`; unknown keys are refused. */
  configSchema: TSchema;
  /** All faults of a config, those of the schema included; paths are JSON pointers inside it. */
  validate(config: Record<string, unknown>): Detail[];
  secretKeys: readonly SecretKey<Config>[];
  /** Most events of one delivery, at least 1. */
  batchSize(config: Config): number;
  /** Concurrent deliveries, from 1 to `LANE_DELIVERIES_MAX`. */
  concurrency(config: Config): number;
  /**
   * Members of an event with which user code overrides its request. User code does not see those
   * that a client sent, since pixels are unauthenticated.
   */
  overrideMembers?: readonly string[];
  /** Events share a delivery only if their keys are equal; without this function all events may. */
  batchKey?(event: OutgoingEvent): string;
  /**
   * Events accumulate up to `batchSize` or these bounds, whichever is reached first, or until the
   * lane or others need the memory. Such a kind has a concurrency of 1. Without this function,
   * waiting events are delivered at once.
   */
  batchLimits?(config: Config): BatchLimits;
  open(config: Config, workspaceId: string): OpenDestination;
  /**
   * Tests a config, step by step up to the first failure, and deletes what it wrote where possible.
   * Never rejects; `signal` ends the test early with a failed step.
   */
  test(config: Config, workspaceId: string, signal: AbortSignal): Promise<TestStep[]>;
}
