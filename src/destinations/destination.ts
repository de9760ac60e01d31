import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";
import type { ReceiverAnswer } from "./answers/receiver-answer.ts";
import type { TestStep } from "./test-steps.ts";

/** The result of one attempt to deliver events. */
export type DeliveryResult =
  /**
   * The events were delivered, except the events in `refused`, which maps the index of each refused
   * event to the reason. Refused events become dead letters at once.
   */
  | { kind: "delivered"; refused?: ReadonlyMap<number, string> }
  /**
   * The receiver will never accept this delivery (for example, it responded with a 4xx status), so
   * the events of the delivery become dead letters. If there are several events, each is first
   * delivered alone, and only the events that the receiver does not accept alone become dead
   * letters.
   */
  | { kind: "rejected"; reason: string; answer?: ReceiverAnswer }
  /** The delivery failed, and a later attempt may succeed. */
  | {
      kind: "retry";
      reason: string;
      answer?: ReceiverAnswer;
      /** Cause of the failure: possibly an event, or the destination. Absent: the destination. */
      scope?: FailureScope;
      /** Delay in milliseconds before the next attempt, if the receiver asked for a delay. */
      afterMs?: number;
      /**
       * Indexes of the events that were delivered although the delivery failed. They are not sent
       * again. Only kinds of destinations with `batchLimits` set this member.
       */
      delivered?: ReadonlySet<number>;
    };

/**
 * Cause of a failure that a later attempt may overcome:
 * - `destination`: the receiver cannot be reached, or accepts no events for some time (refused
 *   connections, timeouts, TLS, DNS, 429, 503, a full disk). An event is never given up because of
 *   such a failure.
 * - `event`: the receiver was reached and failed at this delivery, so one event of the delivery may
 *   be the cause. If an event fails in this way when it is sent alone, and the receiver accepts
 *   other events, the event is given up.
 */
export type FailureScope = "event" | "destination";

/** Properties that an event got when the server received it. User code cannot change them. */
export interface EventOrigin {
  /**
   * Id of the event: a UUID, or any text that an SDK chose. All events that user code produces from
   * one ingested event have the same messageId, in all attempts to deliver them.
   */
  readonly messageId: string;
  readonly sourceId: string;
  /** Time at which the server received the event, in milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Type of the event as in RudderStack: `page`, `track`, … */
  readonly type: string;
  /** The event as ingested. Absent for the event of a connection test. */
  readonly event?: IngestedEvent;
}

/** An ingested event, with the members that are known without parsing its JSON. */
interface IngestedEvent {
  readonly json: Uint8Array;
  /** The event's userId; empty when the event has none. */
  readonly userId: string;
  readonly anonymousId: string;
  /** Whether `userId` and `anonymousId`, where present, are strings in the JSON. */
  readonly hasTextIds?: boolean;
}

/** One event of a delivery. */
export interface OutgoingEvent {
  /** JSON text in UTF-8: the value that user code returned, or the event as ingested. */
  readonly bytes: Uint8Array;
  readonly input: EventOrigin;
  /** Whether user code produced the event. Otherwise it is the event that a client sent. */
  readonly byCode: boolean;
}

/** Maximum size and age of a batch, for kinds that accumulate events into large deliveries. */
export interface BatchLimits {
  /**
   * Maximum bytes of JSON of a delivery. All outputs of one event are in the same delivery, even if
   * they exceed this maximum.
   */
  bytes: number;
  /**
   * Longest time, in milliseconds, that an event waits for further events of the same delivery.
   * With 0, events do not wait, and `deliver` gets no `name`.
   */
  ageMs: number;
}

/**
 * An open destination, ready for deliveries. It may have several deliveries at a time. Each
 * delivery ends within the timeout of the destination's kind.
 */
export interface OpenDestination {
  /**
   * Delivers events in order, all or none if the receiver supports that. Never rejects: a failure
   * is a result. When `signal` is aborted, the delivery ends early with `retry`.
   *
   * An event may be delivered again. After a crash, it may be delivered again together with other
   * events. The event's `input` (`EventOrigin`) is the same each time.
   *
   * `name` is absent for kinds without `batchLimits`, and if `ageMs` is 0. These rules hold for
   * kinds with `batchLimits`:
   *
   * - One delivery runs at a time. It has a unique `name` of ASCII letters, digits, `.`, `_` and
   *   `-`. Later deliveries have greater names.
   * - Every further attempt at a delivery, also after a crash, has the name of the first attempt.
   *   The further attempt contains all events of the earlier ones, except events that have a final
   *   outcome or that an earlier result listed in `delivered`. After a crash it may contain more
   *   events.
   * - An event is not delivered under another name until it is certain that no attempt succeeded.
   *   So a kind that derives a path from the name and from the events' `input` overwrites the files
   *   of earlier attempts, and stores each event once.
   * - `rejected` makes all events of the delivery dead letters, without trying them one by one.
   * - An event is never the cause of a `retry`. Events that cannot be written are listed in
   *   `refused`.
   */
  deliver(
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
    name?: string,
  ): Promise<DeliveryResult>;
  close(): Promise<void>;
}

/**
 * Describes a secret key of a config, such as a password. The API never returns its value. An
 * update that omits the key keeps the stored value, unless the update adds a receiver of the
 * secret.
 */
export interface SecretKey<Config = Record<string, unknown>> {
  /**
   * Path of the key in the config: `password` is a key of the config, `oauth.clientSecret` is the
   * key `clientSecret` of the object `oauth`, and `headers.to` is the key `to` of each item of the
   * array `headers`. The API returns an empty string for a secret in an array, and an update with
   * an empty string keeps the stored value.
   */
  path: string;
  /**
   * Whether the value in this item of an array is secret. The API returns values that are not
   * secret. Without this function, the values in all items are secret.
   */
  isSecret?(item: Record<string, unknown>): boolean;
  /**
   * Returns the receivers of the secret, or of requests signed with it. Throws if the config does
   * not name them in a valid form, as may happen with a config that an earlier version stored.
   */
  audiences(config: Config): SecretAudience[];
}

/** A server that gets a secret, or requests that are signed with the secret. */
export interface SecretAudience {
  /** Host and port in lower case, such as `db.example.com:5432`. */
  host: string;
  /** Whether TLS encrypts the connection over which the secret is sent. */
  isTls: boolean;
  /**
   * Describes how the server's certificate is checked: the trusted authorities and the expected
   * name. Absent for kinds that always expect the host's name and trust the system's authorities. A
   * receiver with another description counts as another receiver.
   */
  certificate?: string;
  /**
   * Purpose of the secret at this server, for configs with several receivers. A receiver with
   * another purpose counts as another receiver.
   */
  use?: string;
}

/**
 * Describes a key of a config for a text with secret parts, such as a URL that contains a token.
 * Answers of the API show the text with its secret parts masked. An update that sends the masked
 * text keeps the stored text.
 */
interface MaskedKey<Config = Record<string, unknown>> {
  /**
   * Path of the key in the config, such as `url`, or `oauth.tokenUrl` for a key of the object
   * `oauth`.
   */
  path: string;
  /**
   * Returns the text of the key with `MASK` in place of its secret parts, as answers of the API
   * show it. Only called for a config that has the key.
   */
  shown(config: Config): string;
}

/**
 * Describes the keys of a config: their schema, which of them are secret, and which values are
 * accepted.
 */
export interface ConfigForm<Config = Record<string, unknown>> {
  /** JSON schema of a config. A config with unknown keys is refused. */
  configSchema: TSchema;
  /**
   * Returns all faults of a config, including violations of the schema. The path of a fault is a
   * JSON pointer into the config.
   */
  validate(config: Record<string, unknown>): Detail[];
  secretKeys: readonly SecretKey<Config>[];
  maskedKeys?: readonly MaskedKey<Config>[];
}

/**
 * A kind of destination, such as `webhook` or `file`. Only `validate` gets configs that are
 * unchecked. The other functions get configs that `validate` accepted.
 */
export interface DestinationKind<Config = Record<string, unknown>> extends ConfigForm<Config> {
  kind: string;
  /**
   * Returns the form of a config that is written with RudderStack's keys, or undefined for a config
   * with the kind's own keys. All functions accept configs in both forms.
   */
  formOf?(config: Record<string, unknown>): ConfigForm | undefined;
  /**
   * Returns the destination's endpoint for display, without secrets: a URL, a bucket, a topic, a
   * database or a file. Undefined when a disabled destination's config lacks it.
   */
  endpoint?(config: Partial<Config>): string | undefined;
  /** Largest number of events in one delivery, at least 1. */
  batchSize(config: Config): number;
  /** Largest number of deliveries at a time, from 1 to `LANE_DELIVERIES_MAX`, with any config. */
  concurrency: number;
  /**
   * Keys of an event with which user code overrides the request that delivers the event. Pixelmill
   * removes these keys from events of clients before user code sees them, because pixels are
   * unauthenticated.
   */
  overrideMembers?: readonly string[];
  /**
   * Returns a key for an event. Only events with equal keys may share a delivery. Without this
   * function, all events may share one.
   */
  batchKey?(event: OutgoingEvent): string;
  /**
   * Returns the maximum size and age of one delivery. Events accumulate until they reach
   * `batchSize`, this size or this age, or until their memory is needed. A kind with this function
   * must have a concurrency of 1. Without this function, waiting events are delivered at once.
   */
  batchLimits?(config: Config): BatchLimits;
  open(config: Config, workspaceId: string): OpenDestination;
  /**
   * Tests the connection that a config describes. Resolves with the steps of the test, up to the
   * first that failed. Deletes what it wrote, where possible. Never rejects. When `signal` is
   * aborted, the test ends early with a failed step.
   */
  test(config: Config, workspaceId: string, signal: AbortSignal): Promise<TestStep[]>;
}
