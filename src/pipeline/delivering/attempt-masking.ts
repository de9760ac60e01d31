import { shownAnswer, shownReason } from "../../destinations/answers/receiver-answer.ts";
import { maskAll, SecretMask } from "../../destinations/answers/secret-mask.ts";
import type { DeliveryResult, DestinationKind } from "../../destinations/destination.ts";
import { secretsOfConfig } from "../../destinations/request-secrets.ts";
import type { AttemptResult, FailedAttempt } from "../model/attempt.ts";
import type { Output } from "../model/lane-event.ts";

type Credentials = Readonly<Record<string, string>>;

/**
 * Credentials of user code → mask that hides them. All destinations that run the same code share
 * the mask.
 */
const masks = new WeakMap<Credentials, SecretMask>();

/**
 * Removes secrets from the results of deliveries to one destination, because a receiver's answer
 * may repeat the request. Hides the secrets of the destination's config and of each request, and
 * the credentials that the events' user code ran with.
 */
export class AttemptMasking {
  readonly #secrets: () => string[];
  /** Mask of the secrets in the config; undefined before the first failed attempt. */
  #config: SecretMask | undefined;
  /**
   * Mask that last hid the secrets of a request. It is kept because the next request mostly has the
   * same secrets.
   */
  #sent: { key: string; mask: SecretMask } | undefined;

  constructor(kind: DestinationKind, config: Record<string, unknown>) {
    this.#secrets = () => secretsOfConfig(kind, config);
  }

  /**
   * Returns the result of an attempt to deliver `events`, with its secrets removed. The attempt
   * began at `at`, in milliseconds since the epoch, and took `durationMs`.
   */
  shown(
    result: DeliveryResult,
    events: readonly Output[],
    at: number,
    durationMs: number,
  ): AttemptResult {
    const attempt: FailedAttempt = { at, durationMs: Math.round(durationMs) };
    if (result.kind === "delivered") {
      if (result.refused === undefined) return result;
      const mask = this.#maskOf(events);
      const refused = [...result.refused].map(([index, reason]): [number, string] => {
        return [index, mask(reason)];
      });
      return { ...result, refused: new Map(refused), attempt };
    }
    const { answer, ...rest } = result;
    const mask = this.#maskOf(events, answer?.sent);
    attempt.reason = mask(result.reason);
    const shown = { ...rest, reason: attempt.reason, attempt };
    if (answer === undefined) return shown;
    if (answer.status !== undefined) attempt.status = answer.status;
    return { ...shown, response: shownAnswer(answer, { mask: mask.text }) };
  }

  #maskOf(events: readonly Output[], sent: readonly string[] = []) {
    this.#config ??= new SecretMask(this.#secrets());
    const ofCode = new Set(events.map(({ live }) => live?.credentials));
    const known = [...ofCode].filter((it) => it !== undefined);
    const all = [this.#config, ...known.map(maskOf)];
    if (sent.length > 0) all.push(this.#own(sent));
    const text = (value: string) => maskAll(value, all);
    const reason = (value: string) => shownReason(value, { mask: text });
    return Object.assign(reason, { text });
  }

  #own(sent: readonly string[]): SecretMask {
    const key = sent.join("\n");
    if (this.#sent?.key !== key) this.#sent = { key, mask: new SecretMask(sent) };
    return this.#sent.mask;
  }
}

const maskOf = (credentials: Credentials) =>
  masks.getOrInsertComputed(credentials, (it) => new SecretMask(Object.values(it)));
