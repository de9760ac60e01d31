import { hashableText } from "../../json/hashable-text.ts";

/** Position in the event logs, and time of receipt, of an event with a certain messageId. */
export interface Occurrence {
  /** Name of the log. `sequence` is the sequence number of the event's record in this log. */
  log: string;
  sequence: number;
  /** Time of receipt, in milliseconds since the epoch. */
  receivedAt: number;
}

/** Limit on the number of ids that all `RecentIds` objects with this budget hold together. */
export interface IdBudget {
  readonly countMax: number;
  /** Number of ids for which the `RecentIds` of this budget have allocated memory. */
  allocated: number;
}

/** Number of slots that the ring of a `RecentIds` has when its first id is added. */
const CAPACITY_MIN = 1 << 8;
/** Number of 32-bit words of an id's hash. Different ids practically never share a 128-bit hash. */
const HASH_WORDS = 4;
const NONE = -1;
/**
 * Fraction of live slots above which a full ring that cannot grow forgets its oldest id. Otherwise
 * it is rewritten without dead slots (slots whose id occurred again later). Rewriting 500,000 slots
 * takes 75 ms, so it must free many.
 */
const LIVE_FRACTION_MAX = 7 / 8;

const hash = new BigUint64Array(2);
const hashWords = new Int32Array(hash.buffer);
/** Hash seeds of this process, so that no client can choose messageIds with equal hashes. */
const seeds = crypto.getRandomValues(new BigUint64Array(2));

/**
 * The latest messageIds of one source, each with its last occurrence. An id takes 42 bytes. At the
 * limit on ids, each new id displaces the oldest one.
 */
export class RecentIds {
  /** Names of the logs; `#logIndexes` has for each slot the index of its log in this list. */
  readonly #logs: string[] = [];
  #capacity = 0;
  /** Slot of the oldest id. It and the following `#used - 1` slots of the ring are in use. */
  #first = 0;
  #used = 0;
  /** Number of live slots: slots in use that have the last occurrence of their id. */
  #live = 0;
  #hashes = new Int32Array(0);
  #times = new Float64Array(0);
  #sequences = new Float64Array(0);
  #logIndexes = new Int16Array(0);
  /**
   * Bucket of the hash table → number of its first slot. `#next` has for each slot the number of
   * the next slot in the same bucket. `NONE` stands for no slot.
   */
  #buckets = new Int32Array(0);
  #next = new Int32Array(0);

  constructor(
    private readonly countMax: number,
    private readonly budget: IdBudget,
  ) {}

  /**
   * Records `at` as the last occurrence of an id. Returns the id's last occurrence before this
   * call; undefined if the id was not in the ring.
   */
  note(id: string, at: Occurrence): Occurrence | undefined {
    const text = hashableText(id);
    hash[0] = Bun.hash.wyhash(text, seeds[0]);
    hash[1] = Bun.hash.wyhash(text, seeds[1]);
    const known = this.#find();
    const last = known === NONE ? undefined : this.#occurrence(known);
    if (known !== NONE) this.#unlink(known);
    this.#add(at);
    return last;
  }

  /** Forgets the oldest ids until the oldest one that is left occurred at or after `time`. */
  forgetBefore(time: number): void {
    while (this.#used > 0 && !(this.#times[this.#first]! >= time)) this.#forgetOldest();
  }

  /** Forgets all ids, and frees their memory. */
  clear(): void {
    this.#used = 0;
    this.#resize(0);
  }

  #find(): number {
    if (this.#capacity === 0) return NONE;
    let slot = this.#buckets[this.#bucketOf(hashWords[0]!)]!;
    while (slot !== NONE && !this.#hasHash(slot)) slot = this.#next[slot]!;
    return slot;
  }

  #hasHash(slot: number): boolean {
    const at = slot * HASH_WORDS;
    for (let i = 0; i < HASH_WORDS; i++) if (this.#hashes[at + i] !== hashWords[i]) return false;
    return true;
  }

  #occurrence(slot: number): Occurrence {
    const log = this.#logs[this.#logIndexes[slot]!]!;
    return { log, sequence: this.#sequences[slot]!, receivedAt: this.#times[slot]! };
  }

  #add({ log, sequence, receivedAt }: Occurrence): void {
    if (this.#used === this.#capacity && !this.#makeRoom()) this.#forgetOldest();
    const slot = (this.#first + this.#used) % this.#capacity;
    this.#used++;
    this.#hashes.set(hashWords, slot * HASH_WORDS);
    this.#times[slot] = receivedAt;
    this.#sequences[slot] = sequence;
    this.#logIndexes[slot] = this.#indexOf(log);
    this.#link(slot);
  }

  #indexOf(log: string): number {
    const index = this.#logs.indexOf(log);
    return index >= 0 ? index : this.#logs.push(log) - 1;
  }

  #forgetOldest(): void {
    // A slot whose id occurred again is unlinked already, and has no log.
    if (this.#logIndexes[this.#first] !== NONE) this.#unlink(this.#first);
    this.#first = (this.#first + 1) % this.#capacity;
    this.#used--;
  }

  #bucketOf(word: number): number {
    return (word >>> 0) % this.#capacity;
  }

  #link(slot: number): void {
    const bucket = this.#bucketOf(this.#hashes[slot * HASH_WORDS]!);
    this.#next[slot] = this.#buckets[bucket]!;
    this.#buckets[bucket] = slot;
    this.#live++;
  }

  #unlink(slot: number): void {
    const bucket = this.#bucketOf(this.#hashes[slot * HASH_WORDS]!);
    let at = this.#buckets[bucket]!;
    if (at === slot) this.#buckets[bucket] = this.#next[slot]!;
    else {
      while (this.#next[at] !== slot) at = this.#next[at]!;
      this.#next[at] = this.#next[slot]!;
    }
    this.#logIndexes[slot] = NONE;
    this.#live--;
  }

  /**
   * Makes room for a new id in a full ring: grows it, or frees slots whose id occurred again later.
   * Returns false if the ring cannot grow and too few slots would become free: the caller must then
   * forget the oldest id.
   */
  #makeRoom(): boolean {
    const isHalfLive = 2 * this.#live >= this.#capacity;
    const wanted = isHalfLive ? Math.max(CAPACITY_MIN, 2 * this.#capacity) : this.#capacity;
    const capacity = Math.min(this.countMax, wanted);
    const more = capacity - this.#capacity;
    const isOver = this.budget.allocated + more > this.budget.countMax;
    // A source always has room for a few ids, so that others cannot disable its deduplication.
    const mayGrow = more > 0 && (!isOver || this.#capacity === 0);
    if (!mayGrow && this.#live > LIVE_FRACTION_MAX * this.#capacity) return false;
    this.#resize(mayGrow ? capacity : this.#capacity);
    return true;
  }

  #resize(capacity: number): void {
    this.budget.allocated += capacity - this.#capacity;
    const before = {
      hashes: this.#hashes,
      times: this.#times,
      sequences: this.#sequences,
      logIndexes: this.#logIndexes,
    };
    const slots = Array.from(
      { length: this.#used },
      (_, i) => (this.#first + i) % this.#capacity,
    ).filter((slot) => before.logIndexes[slot] !== NONE);
    this.#capacity = capacity;
    this.#allocate(capacity);
    this.#first = 0;
    this.#used = 0;
    this.#live = 0;
    for (const from of slots) {
      const slot = this.#used++;
      const words = before.hashes.subarray(from * HASH_WORDS, (from + 1) * HASH_WORDS);
      this.#hashes.set(words, slot * HASH_WORDS);
      this.#times[slot] = before.times[from]!;
      this.#sequences[slot] = before.sequences[from]!;
      this.#logIndexes[slot] = before.logIndexes[from]!;
      this.#link(slot);
    }
  }

  #allocate(capacity: number): void {
    this.#hashes = new Int32Array(capacity * HASH_WORDS);
    this.#times = new Float64Array(capacity);
    this.#sequences = new Float64Array(capacity);
    this.#logIndexes = new Int16Array(capacity);
    this.#buckets = new Int32Array(capacity).fill(NONE);
    this.#next = new Int32Array(capacity);
  }
}
