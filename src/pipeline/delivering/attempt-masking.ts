import { shownAnswer, shownReason } from "../../destinations/answers/receiver-answer.ts";
import { secretsOfConfig } from "../../destinations/answers/request-secrets.ts";
import { SecretMask } from "../../destinations/answers/secret-mask.ts";
import type { DeliveryResult, DestinationKind } from "../../destinations/destination.ts";
import { messageOf } from "../../errors.ts";
import type { AttemptResult, FailedAttempt } from "../model/attempt.ts";

type Credentials = Readonly<Record<string, string>>;

export interface AttemptMaskingParts {
  kind: DestinationKind;
  config: Record<string, unknown>;
  /**
   * Returns the credentials that user code may send to the destination; undefined if the
   * destination has no user code. Returns the same object as long as the credentials are unchanged.
   */
  credentials(): Credentials | undefined;
}

/**
 * Removes secrets from the results of deliveries to one destination, because a receiver's answer
 * may repeat what it was sent. Hides the secrets in the destination's config, the workspace's
 * credentials, and the secrets of each request.
 */
export class AttemptMasking {
  readonly #parts: AttemptMaskingParts;
  #credentials: Credentials | undefined;
  #former: Credentials | undefined;
  #mask: SecretMask | undefined;
  /**
   * Mask for the secrets of the last request. Kept because the next request mostly has the same.
   */
  #sent: { key: string; mask: SecretMask } | undefined;

  constructor(parts: AttemptMaskingParts) {
    this.#parts = parts;
  }

  /**
   * Reads the credentials that the next attempt may send. Returns the reason why they cannot be
   * read; then no attempt may be made, because its result could show them.
   */
  prepare(): string | undefined {
    let current: Credentials | undefined;
    try {
      current = this.#parts.credentials();
    } catch (error) {
      return messageOf(error);
    }
    if (current === undefined || current === this.#credentials) return undefined;
    // Events that were made with the former credentials may still be on their way.
    this.#former = this.#credentials;
    this.#credentials = current;
    this.#mask = undefined;
    return undefined;
  }

  /** Returns the result of an attempt that began at `at` and took `durationMs`, without secrets. */
  shown(result: DeliveryResult, at: number, durationMs: number): AttemptResult {
    const attempt: FailedAttempt = { at, durationMs: Math.round(durationMs) };
    if (result.kind === "delivered") {
      if (result.refused === undefined) return result;
      const mask = this.#maskOf(undefined);
      const refused = [...result.refused].map(([index, reason]): [number, string] => {
        return [index, mask(reason)];
      });
      return { ...result, refused: new Map(refused), attempt };
    }
    const { answer, ...rest } = result;
    const mask = this.#maskOf(answer?.sent);
    attempt.reason = mask(result.reason);
    const shown = { ...rest, reason: attempt.reason, attempt };
    if (answer === undefined) return shown;
    if (answer.status !== undefined) attempt.status = answer.status;
    return { ...shown, response: shownAnswer(answer, { mask: mask.text }) };
  }

  #maskOf(sent: readonly string[] | undefined) {
    const common = this.#common();
    const own = sent === undefined || sent.length === 0 ? undefined : this.#own(sent);
    const text = (value: string) => common.mask(own?.mask(value) ?? value);
    const reason = (value: string) => shownReason(value, { mask: text });
    return Object.assign(reason, { text });
  }

  #common(): SecretMask {
    const { kind, config } = this.#parts;
    const values = [this.#former, this.#credentials].flatMap((it) => Object.values(it ?? {}));
    this.#mask ??= new SecretMask([...secretsOfConfig(kind, config), ...values]);
    return this.#mask;
  }

  #own(sent: readonly string[]): SecretMask {
    const key = sent.join("\n");
    if (this.#sent?.key !== key) this.#sent = { key, mask: new SecretMask(sent) };
    return this.#sent.mask;
  }
}
