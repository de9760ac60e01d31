/** A topic was deleted and created again. */
export class TopicRecreated extends Error {
  constructor(topic: string) {
    super(`The topic ${topic} was deleted and created again`);
  }
}

/** Checks that a topic keeps the id that it had at first. */
export class TopicIdentity {
  readonly #topic: string;
  #id: string | undefined;
  #isAnother = false;

  constructor(topic: string) {
    this.#topic = topic;
  }

  /** The topic was seen with this id; throws `AnotherTopic` from the first other id on. */
  check(id: string): void {
    this.#id ??= id;
    this.#isAnother ||= this.#id !== id;
    this.expectUnchanged();
  }

  expectUnchanged(): void {
    if (this.#isAnother) throw new TopicRecreated(this.#topic);
  }
}
