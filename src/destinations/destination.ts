import type { TSchema } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";
import type { ReceiverAnswer } from "./answers/receiver-answer.ts";
import type { TestStep } from "./test-steps.ts";

/** The result of one attempt to deliver events. */
export type DeliveryResult =
  /**
   * All events were delivered except those in `refused`, which maps an event's index to the reason.
   * Refused events become dead letters at once.
   */
  | { kind: "delivered"; refused?: ReadonlyMap<number, string> }
  /**
   * The receiver will never accept this delivery, for example because it responded with a 4xx
   * status. Several events are delivered again one by one. An event that is rejected alone becomes
   * a dead letter.
   */
  | { kind: "rejected"; reason: string; answer?: ReceiverAnswer }
  /** The delivery failed, and a later attempt may succeed. */
  | {
      kind: "retry";
      reason: string;
      answer?: ReceiverAnswer;
      /**
       * Possible causes of the failure. With `event`, an event of the delivery or the destination
       * may be the cause. With `destination` (the default), only the destination may be the cause.
       */
      scope?: FailureScope;
      /** Delay in milliseconds before the next attempt, if the receiver asked for a delay. */
      afterMs?: number;
      /**
       * Indexes of the events that the receiver accepted although the attempt as a whole failed.
       * Later attempts omit these events. Only kinds of destinations with `batchLimits` set this
       * member.
       */
      delivered?: ReadonlySet<number>;
    };

/**
 * Cause of a failure that a later attempt may overcome:
 * - `destination`: the receiver cannot be reached, or accepts no events for some time (refused
 *   connections, timeouts, TLS, DNS, 429, 503, a full disk). No event is given up because of this
 *   failure.
 * - `event`: the receiver failed at this delivery, so one of its events may be the cause. An event
 *   that fails alone is given up if the receiver accepts other events.
 */
export type FailureScope = "event" | "destination";

/** Properties that an event got when the server received it. User code cannot change them. */
export interface EventOrigin {
  /**
   * Id of the event: a UUID, or any text that an SDK chose. All events that user code produces from
   * one ingested event have the messageId of that event, in every attempt to deliver them.
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

/**
 * An ingested event: its JSON, and the ids of its user, which have already been read from the JSON.
 */
interface IngestedEvent {
  readonly json: Uint8Array;
  /** The event's userId; empty when the event has none. */
  readonly userId: string;
  readonly anonymousId: string;
  /**
   * Whether `json` contains `userId` and `anonymousId` only as strings, or not at all. If false,
   * one of them may be a number in `json`, and only parsing `json` gives its exact value.
   */
  readonly hasTextIds?: boolean;
}

/** One event of a delivery. */
export interface OutgoingEvent {
  /** The event as JSON text in UTF-8, as user code returned it or as it was ingested. */
  readonly bytes: Uint8Array;
  readonly input: EventOrigin;
  /** Whether user code returned the event. If false, it is the event that a client sent. */
  readonly byCode: boolean;
}

/** Limits of a batch, for kinds of destinations that accumulate events into large deliveries. */
export interface BatchLimits {
  /**
   * Maximum bytes of JSON in one delivery. The events that user code makes from one ingested event
   * are always in the same delivery, so these events together may exceed the maximum.
   */
  bytes: number;
  /**
   * Longest time, in milliseconds, that an event waits for further events of the same delivery.
   * With 0, events do not wait, and `deliver` gets no `name`.
   */
  ageMs: number;
}

/**
 * An open destination, to which events can be delivered. Up to `concurrency` deliveries run at the
 * same time. Each ends within the timeout of the destination's kind.
 */
export interface OpenDestination {
  /**
   * Delivers events in their order: all or none, if the receiver supports that. Never rejects: a
   * failure is a result too. When `signal` is aborted, resolves early with `retry`. Each call is
   * one attempt; a delivery may have several.
   *
   * An event may be delivered more than once and, after a crash, together with other events than
   * before. Its `input` (`EventOrigin`) is the same in each attempt.
   *
   * Rules for kinds with `batchLimits`:
   * - Only one delivery runs at a time.
   * - The result `rejected` makes all events dead letters, without trying them one by one.
   * - The result `retry` never means that an event is the cause. Events that cannot be written are
   *   listed in `refused`.
   *
   * A delivery has a `name` only if `ageMs` in `batchLimits` is above 0. Rules for names:
   * - The name is unique, and sorts after the names of all earlier deliveries. It consists of ASCII
   *   letters, digits, `.`, `_` and `-`.
   * - Further attempts, also after a crash, have the same name. They contain all events of the
   *   earlier attempts, except those with a final outcome or listed in an earlier `delivered`.
   *   After a crash, they may contain more events.
   * - An event is delivered under another name only when it is certain that no attempt under the
   *   first name succeeded. A kind that derives a path from the name and from the events' `input`
   *   therefore overwrites the files of earlier attempts, and stores each event once.
   */
  deliver(
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
    name?: string,
  ): Promise<DeliveryResult>;
  close(): Promise<void>;
}

/**
 * Describes a key of a config whose value is secret. The API never returns the value. An update
 * without the key keeps the stored value, but is refused if a new receiver would then get the
 * secret.
 */
export interface SecretKey<Config = Record<string, unknown>> {
  /**
   * Path of the secret's key in the config: `password`, `oauth.clientSecret` for a key of an
   * object, or `headers.to` for a key of each item of an array. In arrays, the API returns an empty
   * string for the secret, and an update with an empty string keeps the stored value.
   */
  path: string;
  /**
   * Whether the value of the key is secret in this item of an array. If not, the API returns the
   * value. Without this function, the value is secret in every item.
   */
  isSecret?(item: Record<string, unknown>): boolean;
  /**
   * Returns the servers to which pixelmill sends the secret, or requests signed with it. Throws if
   * the config, perhaps stored by an earlier version, does not name these servers in a valid form.
   */
  audiences(config: Config): SecretAudience[];
}

/** A server to which pixelmill sends a secret, or requests signed with it. */
export interface SecretAudience {
  /** Host and port in lower case, such as `db.example.com:5432`. */
  host: string;
  /** Whether TLS encrypts the connection over which the secret is sent. */
  isTls: boolean;
  /**
   * Describes the accepted certificates of the server: trusted authorities and expected name. If
   * this text changes, the server counts as another receiver. Absent if the kind always uses the
   * system's authorities and the host's name.
   */
  certificate?: string;
  /**
   * Purpose for which the remote server uses the secret, such as `token` for an OAuth token server.
   * The same server with another purpose counts as another receiver of the secret.
   */
  use?: string;
}

/**
 * Key of a config whose value has secret parts, such as a URL with a token. The API masks these
 * parts. An update with the masked value keeps the stored value.
 */
interface MaskedKey<Config = Record<string, unknown>> {
  /**
   * Path of the key in the config, such as `url`, or `oauth.tokenUrl` for a key of the object
   * `oauth`.
   */
  path: string;
  /**
   * Returns the value of the key as the API returns it, with `MASK` in place of its secret parts.
   * Called only for a config that has the key.
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
 * A kind of destination, such as `webhook` or `file`. Only `validate`, `formOf` and the functions
 * in `secretKeys` and `maskedKeys` may get configs that are not validated. All other functions get
 * configs that `validate` accepted.
 */
export interface DestinationKind<Config = Record<string, unknown>> extends ConfigForm<Config> {
  kind: string;
  /**
   * Returns a description of the keys that RudderStack uses, if the config is written with these
   * keys. Returns undefined for a config with the kind's own keys. The kind's other functions
   * accept both forms of configs.
   */
  formOf?(config: Record<string, unknown>): ConfigForm | undefined;
  /**
   * Returns the destination's endpoint for display, without secrets: a URL, a bucket, a topic, a
   * database or a file. Undefined if the config lacks it, which is possible while the destination
   * is disabled.
   */
  endpoint?(config: Partial<Config>): string | undefined;
  /** Largest number of events in one delivery, at least 1. */
  batchSize(config: Config): number;
  /** Largest number of deliveries of one destination at a time: 1 to `LANE_DELIVERIES_MAX`. */
  concurrency: number;
  /**
   * Keys of an event with which user code changes the request that delivers the event. Pixelmill
   * removes these keys from clients' events before user code sees them, because clients are not
   * authenticated.
   */
  overrideMembers?: readonly string[];
  /**
   * Returns a key by which events are grouped: one delivery contains only events with the same key.
   * Without this function, a delivery may contain any events.
   */
  batchKey?(event: OutgoingEvent): string;
  /**
   * Returns the maximum size and age of one delivery. Events are collected until a maximum or
   * `batchSize` is reached, or the server needs their memory. Without this function, events do not
   * wait. A kind with this function must have a concurrency of 1.
   */
  batchLimits?(config: Config): BatchLimits;
  open(config: Config, workspaceId: string): OpenDestination;
  /**
   * Tests the connection that a config describes, and deletes what the test wrote, where possible.
   * Resolves with the results up to the first failed step. Never rejects: when `signal` is aborted,
   * a step fails.
   */
  test(config: Config, workspaceId: string, signal: AbortSignal): Promise<TestStep[]>;
}
