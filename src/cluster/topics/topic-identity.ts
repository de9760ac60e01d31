/** Thrown when a topic that this process reads or writes was deleted and created again. */
export class TopicRecreated extends Error {
  constructor(topic: string) {
    super(`The topic ${topic} was deleted and created again`);
  }
}

/**
 * Remembers the first observed id of a topic. Any other id shows that the topic was deleted and
 * created again.
 */
export class TopicIdentity {
  #id: string | undefined;
  #isAnother = false;

  constructor(private readonly topic: string) {}

  /**
   * Remembers `id` if this is the first call. Throws `TopicRecreated` if the id of this call or of
   * any earlier one differs from the first.
   */
  check(id: string): void {
    this.#id ??= id;
    this.#isAnother ||= this.#id !== id;
    this.expectUnchanged();
  }

  /** Throws `TopicRecreated` if any call of `check` got another topic id than the first call. */
  expectUnchanged(): void {
    if (this.#isAnother) throw new TopicRecreated(this.topic);
  }
}
