import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";
import type { TestStep } from "./test-steps.ts";

/** How a delivery ended. */
export type DeliveryResult =
  /**
   * All events were delivered, except those in `refused`, by index, with the reason: these become
   * dead letters at once.
   */
  | { kind: "delivered"; refused?: ReadonlyMap<number, string> }
  /**
   * The receiver will never take the delivery (a 4xx), so it becomes dead letters. Of several
   * events each is first tried alone, which shows the wrong one.
   */
  | { kind: "rejected"; reason: string }
  /** The delivery may work later; `afterMs` is the receiver's own wish (`Retry-After`). */
  | { kind: "retry"; reason: string; afterMs?: number };

/** What an event was when it came in; code that ran over it has not changed this. */
export interface EventOrigin {
  /**
   * A UUID, shared by everything that code made of one event, and by every repetition of its
   * delivery.
   */
  readonly messageId: string;
  readonly sourceId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The type in RudderStack's words: `page`, `track`, … */
  readonly type: string;
}

/** One event of a delivery. */
export interface OutgoingEvent {
  /** JSON text in UTF-8: what code made of the event, or the event as it came. */
  readonly bytes: Uint8Array;
  readonly input: EventOrigin;
  /** Whether user code made the event; otherwise the event is as a client sent it. */
  readonly byCode: boolean;
}

/** How a kind gathers events into large deliveries. */
export interface BatchLimits {
  /** JSON texts of one delivery, beyond those of its first event. */
  bytes: number;
  /**
   * The longest that an event waits for others of its delivery; 0: what is there goes at once, and
   * deliveries have no names.
   */
  ageMs: number;
}

/** One open destination. Deliveries may run at once; each settles within the kind's timeout. */
export interface OpenDestination {
  /**
   * Delivers events in their order, all or none as far as the receiver allows. Never rejects: what
   * goes wrong is a verdict. `signal` ends it early as `retry`.
   *
   * An event may come again, after a crash among other events than before; its `input` is the same.
   *
   * A kind that gathers has one delivery at a time, and each has a name of its own: ASCII letters,
   * digits, `.`, `_` and `-`, ascending with time. An attempt that is repeated, after a crash too,
   * has the same name and holds all events of the attempts before, but for those that ended in
   * another way meanwhile; after a crash it may hold more. An event that was in an attempt never
   * goes under another name while that attempt may have come through. So what an attempt writes to
   * a place that is made of the name, and of what does not change in its events' `input`, is there
   * once when a later attempt replaces it. `rejected` ends all events of a gathered delivery: they
   * are not tried alone. Other kinds get no name.
   */
  deliver(
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
    name?: string,
  ): Promise<DeliveryResult>;
  close(): Promise<void>;
}

/**
 * A key of a config that is write-only: never answered, and kept when an update omits it and moves
 * it to no other place.
 */
export interface SecretKey<Config = Record<string, unknown>> {
  /**
   * `password`; `headers.to` is the key `to` of each item of `headers`: answered empty, kept when it
   * is empty; `oauth.clientSecret` is the key `clientSecret` of the object `oauth`.
   */
  path: string;
  /** Where the secret is sent, or what is signed with it. Throws where a config does not tell. */
  audiences(config: Config): SecretAudience[];
}

/** Whom a secret is sent to. */
export interface SecretAudience {
  /** `db.example.com:5432`, in lower case. */
  host: string;
  /** Whether only who has the host's certificate can read it. */
  isTls: boolean;
  /** What the secret is for there, where a config names several places; one is not the other. */
  use?: string;
}

/**
 * One kind of destination: `webhook`, `file`. A factory of plain objects. Only `validate` gets an
 * unchecked config; all other functions get one that it has accepted.
 */
export interface DestinationKind<Config = Record<string, unknown>> {
  kind: string;
  /** The shape of `config`: a key that it does not have is refused. */
  configSchema: TSchema;
  /** Everything that is wrong with a config, schema included; paths are pointers inside it. */
  validate(config: Record<string, unknown>): Detail[];
  secretKeys: readonly SecretKey<Config>[];
  /** Most events of one delivery, at least 1. */
  batchSize(config: Config): number;
  /** Deliveries that may be under way at once, from 1 to `LANE_DELIVERIES_MAX`. */
  concurrency(config: Config): number;
  /**
   * Members of an event through which user code shapes its delivery. Code does not get those that a
   * client sent: anybody may send pixels.
   */
  overrideMembers?: readonly string[];
  /** Only events for which this is equal share a delivery; without it all may. */
  batchKey?(event: OutgoingEvent): string;
  /**
   * Events are gathered up to `batchSize`, or these bounds, whichever comes first, or until the lane
   * or others need the room. Without it what waits goes at once. The kind's concurrency is 1 then.
   */
  batchLimits?(config: Config): BatchLimits;
  open(config: Config, workspaceId: string): OpenDestination;
  /**
   * Tries a config out, step by step up to the first that fails, and takes away what it wrote where
   * that can be. Never rejects; `signal` ends it early, as a step that failed.
   */
  test(config: Config, workspaceId: string, signal: AbortSignal): Promise<TestStep[]>;
}
