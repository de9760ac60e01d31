import { shownAnswer, shownReason } from "../../destinations/answers/receiver-answer.ts";
import { secretsOfConfig } from "../../destinations/answers/request-secrets.ts";
import { SecretMask } from "../../destinations/answers/secret-mask.ts";
import type { DeliveryResult, DestinationKind } from "../../destinations/destination.ts";
import type { AttemptResult, FailedAttempt } from "../model/attempt.ts";
import type { Output } from "../model/lane-event.ts";

type Credentials = Readonly<Record<string, string>>;

/**
 * Removes secrets from the results of deliveries to one destination, because a receiver's answer
 * may repeat the request. Hides the secrets in the destination's config, the secrets of each
 * request, and the credentials that the user code of each event had when it ran.
 */
export class AttemptMasking {
  readonly #kind: DestinationKind;
  readonly #config: Record<string, unknown>;
  /**
   * The function last used to hide the config's secrets and `credentials`, the credentials of user
   * code. Kept because the events of the next failed attempt mostly have the same credentials.
   */
  #common: { credentials: ReadonlySet<Credentials>; mask: SecretMask } | undefined;
  /**
   * The function last used to hide the secrets of a request. Kept because the next request mostly
   * has the same secrets.
   */
  #sent: { key: string; mask: SecretMask } | undefined;

  constructor(kind: DestinationKind, config: Record<string, unknown>) {
    this.#kind = kind;
    this.#config = config;
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
    const common = this.#commonOf(events);
    const own = sent.length === 0 ? undefined : this.#own(sent);
    const text = (value: string) => common.mask(own?.mask(value) ?? value);
    const reason = (value: string) => shownReason(value, { mask: text });
    return Object.assign(reason, { text });
  }

  #commonOf(events: readonly Output[]): SecretMask {
    const made = events.map(({ live }) => live?.credentials);
    const credentials = new Set(made.filter((it) => it !== undefined));
    if (this.#common?.credentials.symmetricDifference(credentials).size !== 0) {
      const values = [...credentials].flatMap((it) => Object.values(it));
      const secrets = [...secretsOfConfig(this.#kind, this.#config), ...values];
      this.#common = { credentials, mask: new SecretMask(secrets) };
    }
    return this.#common.mask;
  }

  #own(sent: readonly string[]): SecretMask {
    const key = sent.join("\n");
    if (this.#sent?.key !== key) this.#sent = { key, mask: new SecretMask(sent) };
    return this.#sent.mask;
  }
}
