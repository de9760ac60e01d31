import type { Reader } from "@platformatic/kafka";
import { boundedAnswer } from "../../src/kafka/bounded-connections.ts";
import { KafkaAnswerError } from "../../src/kafka/bounded-reader.ts";
import { type KafkaLibrary, loadKafkaLibrary } from "../../src/kafka/library.ts";

/** Requests whose answers destinations and nodes read. */
const requestNames = [
  ...["apiVersions", "metadata", "saslHandshake", "saslAuthenticate"],
  ...["initProducerId", "produce", "fetch", "listOffsets"],
  ...["findCoordinator", "joinGroup", "syncGroup", "heartbeat", "leaveGroup", "offsetFetch"],
  ...["createTopics", "createPartitions", "deleteRecords", "describeConfigs", "describeGroups"],
] as const;

type ReadAnswer = (id: number, key: number, version: number, reader: Reader) => unknown;

/** A request in one version, with the library's decoder of its answers. */
export interface AnswerKind {
  name: string;
  key: number;
  version: number;
  read: ReadAnswer;
}

export const kafka: KafkaLibrary = await loadKafkaLibrary();

/** Every request that is used, in each version that the library knows, the newest first. */
export const answerKinds: AnswerKind[] = requestNames.flatMap((name) => {
  const modules = kafka as unknown as Record<
    string,
    { parseResponse: ReadAnswer; api: { key: number; version: number } }
  >;
  return Object.keys(modules)
    .filter((module) => new RegExp(`^${name}V\\d+$`).test(module))
    .map((module) => {
      const { parseResponse: read, api } = modules[module]!;
      return { name: module, key: api.key, version: api.version, read };
    })
    .sort((a, b) => b.version - a.version);
});

/** The answers by the name of their request, in all its versions. */
export const answerKindsByRequest: ReadonlyMap<string, AnswerKind[]> = Map.groupBy(
  answerKinds,
  ({ name }) => name.replace(/V\d+$/, ""),
);

/** Random whole numbers from a seed (xorshift), far cheaper than those of a property. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) | 1;
  }

  below(end: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % end;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }
}

const FETCH = 1;
const JOIN_GROUP = 11;
const SYNC_GROUP = 14;

/**
 * Stands in for a reader, and writes a random value for each that a decoder asks for. The bytes are
 * a valid answer, whatever its schema.
 */
class AnswerWriter {
  readonly #random: Random;
  readonly #key: number;
  #pieces: Buffer[] = [];
  #records = Buffer.alloc(0);
  /**
   * Whether the last value was a number of 32 bits, which stands before records in new versions.
   */
  #isBeforeRecords = false;

  constructor(random: Random, key: number) {
    this.#random = random;
    this.#key = key;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  get position(): number {
    return 0;
  }

  get remaining(): number {
    return 0;
  }

  get buffer() {
    const records = () => new kafka.Reader(kafka.Reader.from(this.#records).buffer).buffer;
    return { subarray: records, slice: () => this.#records };
  }

  skip(): void {}

  #write(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#isBeforeRecords = false;
  }

  #number(bytes: number, value: number): number {
    const piece = Buffer.alloc(bytes);
    piece.writeIntBE(value, 0, bytes);
    this.#write(piece);
    return value;
  }

  #varInt(value: number): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    this.#write(Buffer.from([...bytes, rest]));
  }

  #length(length: number, isCompact: boolean, bytes: number): void {
    if (isCompact) this.#varInt(length + 1);
    else this.#number(bytes, length);
  }

  readInt8 = () => this.#number(1, this.#random.below(3));
  readBoolean = () => this.#number(1, this.#random.below(2)) === 1;
  /** Most are error codes. */
  readInt16 = () => this.#number(2, this.#random.below(4) > 0 ? 0 : this.#random.of(ERROR_CODES));

  readInt32(): number {
    const value = this.#number(4, this.#random.below(5_000));
    this.#isBeforeRecords = this.#key === FETCH;
    return value;
  }

  readInt64(): bigint {
    const piece = Buffer.alloc(8);
    piece.writeUInt32BE(this.#random.below(2 ** 20), 4);
    this.#write(piece);
    return piece.readBigInt64BE();
  }

  readFloat64(): number {
    this.#write(Buffer.alloc(8));
    return 0;
  }

  readUUID(): string {
    this.#write(Buffer.alloc(16, 7));
    return "07070707-0707-0707-0707-070707070707";
  }

  readUnsignedVarInt(): number {
    if (!this.#isBeforeRecords) {
      this.#varInt(0);
      return 0;
    }
    this.#records = recordsOf(this.#random);
    this.#varInt(this.#records.length + 1);
    this.#write(this.#records);
    return this.#records.length + 1;
  }

  readString = (isCompact = true) => this.readNullableString(isCompact) ?? "";

  readNullableString(isCompact = true): string | null {
    const text = this.#random.of(["", "a", "127.0.0.1", "events", "x".repeat(40)]);
    this.#length(text.length, isCompact, 2);
    this.#write(Buffer.from(text));
    return text;
  }

  readBytes = (isCompact = true) => this.readNullableBytes(isCompact);

  readNullableBytes(isCompact = true): Buffer {
    const value = this.#bytesOfKind();
    this.#length(value.length, isCompact, 4);
    this.#write(value);
    return value;
  }

  #bytesOfKind(): Buffer {
    const assignedPartitions = [{ topic: "events", partitions: [0, 1] }];
    switch (this.#key) {
      case FETCH:
        return recordsOf(this.#random);
      case JOIN_GROUP:
        return kafka.encodeConsumerProtocolSubscription({
          version: 3,
          topics: ["events"],
          ownedPartitions: assignedPartitions,
          userData: "node",
        } as Parameters<typeof kafka.encodeConsumerProtocolSubscription>[0]);
      case SYNC_GROUP:
        return kafka.encodeConsumerProtocolAssignment({
          version: 3,
          assignedPartitions,
        } as Parameters<typeof kafka.encodeConsumerProtocolAssignment>[0]);
      default:
        return Buffer.alloc(0);
    }
  }

  readArray = <T>(...args: Parameters<typeof this.readNullableArray<T>>) =>
    this.readNullableArray(...args);

  readNullableArray<T>(
    read: (reader: Reader, index: number) => T,
    isCompact = true,
    hasTags = true,
  ): T[] {
    const count = this.#random.below(4);
    this.#length(count, isCompact, 4);
    return Array.from({ length: count }, (_, index) => {
      const item = read(this as unknown as Reader, index);
      if (hasTags) this.readTaggedFields();
      return item;
    });
  }

  readTaggedFields(): void {
    const count = this.#random.below(8) === 0 ? 1 : 0;
    this.#varInt(count);
    if (count > 0) this.#write(Buffer.from([9, 2, 1, 1]));
  }
}

const ERROR_CODES = [1, 3, 5, 6, 16, 25, 29, 41, 58];
const compressions = ["none", "gzip", "snappy", "lz4", "zstd"] as const;

/** Records of a Fetch answer, in batches of each compression. They are few, and are made once. */
const recordBatches = compressions.flatMap((compression) =>
  [1, 3].map((count) => {
    const headers = new Map([[Buffer.from("id"), Buffer.from("1")]]);
    const message = { topic: "t", partition: 0, key: Buffer.from("u"), headers, timestamp: 1n };
    const messages = Array.from({ length: count }, () => ({
      ...message,
      value: Buffer.from('{"type":"page"}'),
    }));
    return kafka.createRecordsBatch(messages, { compression }).buffer;
  }),
);

const recordsOf = (random: Random) =>
  Buffer.concat(Array.from({ length: random.below(3) }, () => random.of(recordBatches)));

/** Makes a valid answer. */
export function randomAnswer({ key, version, read }: AnswerKind, random: Random): Buffer {
  const writer = new AnswerWriter(random, key);
  try {
    read(0, key, version, writer as unknown as Reader);
  } catch (error) {
    if (!(error instanceof kafka.ResponseError)) throw error;
  }
  return writer.bytes;
}

/** Lengths and counts that lead back, that are huge, or that end a sequence early. */
const hostileNumbers = [
  ..."ffffffff07,fdffffff0f,faffffff0f,f1ffffff0f,ffffffff0f,ffffffffffffffffff01".split(","),
  ..."ffffffffffffffffffffffffffff,ffffffff,7fffffff,80000000,fffffff0,ffff,8000,fffe".split(","),
  ..."00,01,02,7f,80,ff,0000000000000000".split(","),
].map((hex) => Buffer.from(hex, "hex"));

/** Changes an answer in one to four parts. */
export function mutate(answer: Buffer, random: Random): Buffer {
  let bytes = answer;
  for (let change = random.below(4); change >= 0; change--) {
    const at = random.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + random.below(6));
    const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
    switch (random.below(6)) {
      case 0:
        bytes = Buffer.concat([head, Buffer.from([random.below(256)]), bytes.subarray(at + 1)]);
        break;
      case 1: {
        const number = random.of(hostileNumbers);
        bytes = Buffer.concat([head, number, bytes.subarray(at + number.length)]);
        break;
      }
      case 2:
        bytes = Buffer.concat([head, random.of(hostileNumbers), tail]);
        break;
      case 3:
        bytes = Buffer.concat([head, bytes.subarray(end)]);
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, end), tail]);
        break;
      default:
        bytes = head;
    }
  }
  return bytes;
}

/** Values that decoders have read since the last `readsOf`. */
let reads = 0;
const counted = kafka.Reader.prototype as unknown as Record<string, (...all: unknown[]) => unknown>;
for (const name of Object.getOwnPropertyNames(counted)) {
  if (!/^(?:read|skip)/.test(name)) continue;
  const own = counted[name]!;
  Object.assign(counted, {
    [name](this: unknown, ...all: unknown[]) {
      reads += 1;
      return own.apply(this, all);
    },
  });
}

export interface ReadAnswerResult {
  /** Whether the bytes were a valid answer, with an error code or without. */
  isValid: boolean;
  /** Number of values that were read. */
  reads: number;
}

/** Reads an answer. Throws any error that is neither one of the broker nor `KafkaAnswerError`. */
export function readAnswer({ key, version, read }: AnswerKind, bytes: Buffer): ReadAnswerResult {
  reads = 0;
  try {
    boundedAnswer(kafka, read)(0, key, version, kafka.Reader.from(bytes));
    return { isValid: true, reads };
  } catch (error) {
    if (error instanceof kafka.ResponseError) return { isValid: true, reads };
    if (error instanceof KafkaAnswerError) return { isValid: false, reads };
    throw error;
  }
}

/**
 * Most values that an answer of some bytes may have. A value of its own has at least a byte, and
 * reading one calls up to three methods of the reader. Compressed records may grow by 255.
 */
export function readsMax({ key }: AnswerKind, bytes: number): number {
  return 16 + 3 * bytes * (key === FETCH ? 255 : 1);
}
