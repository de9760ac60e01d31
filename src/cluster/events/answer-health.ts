import type { Logger } from "../../observe/log.ts";
import { nameNumbers } from "../topics/number-list.ts";
import { describeReadFailure } from "../topics/read-health.ts";

interface AnswerHealthOptions {
  topic: string;
  logger: Logger;
}

/** Errors of partitions whose end offset could not be read from the leader, by partition number. */
type Failures = ReadonlyMap<number, unknown>;

/** Returns a clause that names the partitions in `failures`, whose leaders do not answer. */
export function describeUnanswered(failures: Failures): string {
  const numbers = nameNumbers([...failures.keys()]);
  return failures.size === 1
    ? `Partition ${numbers} of the event log does not answer`
    : `Partitions ${numbers} of the event log do not answer`;
}

/** Records whether the leaders of the event log's partitions answer, and logs when that changes. */
export class AnswerHealth {
  #trouble: string | undefined;

  constructor(private readonly options: AnswerHealthOptions) {}

  /**
   * Records the result of one round of requests for the end offset of every partition. `failures`
   * has the errors of partitions whose end offset could not be read, by partition number.
   */
  noteAnswers(failures: Failures): void {
    if (failures.size > 0) {
      const causes = Map.groupBy(failures, ([, error]) => describeReadFailure(error));
      const sentences = [...causes].map(
        ([cause, of]) => `${describeUnanswered(new Map(of))}: ${cause}`,
      );
      this.#fail(
        describeUnanswered(failures),
        failures.values().next().value,
        sentences.join("; "),
      );
      return;
    }
    const { logger, topic } = this.options;
    if (this.#trouble !== undefined)
      logger.info({ topic }, "all partitions of the event log answer again");
    this.#trouble = undefined;
  }

  /** Records that no partition's leader could be asked, because of `error`. */
  failed(error: unknown): void {
    const message = "No partition of the event log answers";
    this.#fail(message, error, `${message}: ${describeReadFailure(error)}`);
  }

  /** Returns a sentence about the partitions whose leaders do not answer; undefined if all do. */
  trouble(): string | undefined {
    return this.#trouble;
  }

  #fail(message: string, err: unknown, trouble: string): void {
    const { logger, topic } = this.options;
    if (this.#trouble === undefined) logger.error({ err, topic }, message);
    this.#trouble = trouble;
  }
}
