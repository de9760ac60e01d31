/** Error of reading or writing a topic that was deleted and created again. */
export class TopicRecreated extends Error {
  constructor(topic: string) {
    super(`The topic ${topic} was deleted and created again`);
  }
}

/** Remembers the first id of a topic, and detects when the topic has another id. */
export class TopicIdentity {
  readonly #topic: string;
  #id: string | undefined;
  #isAnother = false;

  constructor(topic: string) {
    this.#topic = topic;
  }

  /** Compares an observed id with the first one. Throws `TopicRecreated` once any has differed. */
  check(id: string): void {
    this.#id ??= id;
    this.#isAnother ||= this.#id !== id;
    this.expectUnchanged();
  }

  /** Throws `TopicRecreated` if `check` has seen another id than the first. */
  expectUnchanged(): void {
    if (this.#isAnother) throw new TopicRecreated(this.#topic);
  }
}
