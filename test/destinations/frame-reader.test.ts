import { afterEach, describe, expect, spyOn, test } from "bun:test";
import * as fc from "fast-check";
import { FrameReader } from "../../src/destinations/frame-reader.ts";
import { PostgresMessageReader } from "../../src/destinations/postgres/protocol.ts";
import { ResponseReader } from "../../src/egress/response-reader.ts";

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/** Counts the bytes that are copied from one buffer to another from now on. */
function countCopies(): () => number {
  let bytes = 0;
  const { concat, from } = Buffer;
  const set = Uint8Array.prototype.set;
  const add = (part: unknown) => {
    if (part instanceof Uint8Array) bytes += part.length;
  };
  spies.push(
    spyOn(Buffer, "concat").mockImplementation(((list: Uint8Array[]) => {
      list.forEach(add);
      return concat(list);
    }) as never),
    spyOn(Buffer, "from").mockImplementation(((...args: [never]) => {
      add(args[0]);
      return from(...args);
    }) as never),
    spyOn(Uint8Array.prototype, "set").mockImplementation(function (
      this: Uint8Array,
      ...args: [never]
    ) {
      add(args[0]);
      set.apply(this, args);
    } as never),
  );
  return () => bytes;
}

function* pieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const byPrefix = () =>
  new FrameReader((bytes) => (bytes.length < 4 ? undefined : 4 + bytes.readUInt32BE(0)));

function framed(body: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

describe("each byte of a response in small pieces is copied a bounded number of times", () => {
  const SIZE = 100_000;

  test.each([1, 7, 1_000])("messages of PostgreSQL in pieces of %d", (size) => {
    const head = Buffer.from("D\0\0\0\0");
    head.writeUInt32BE(SIZE + 4, 1);
    const message = Buffer.concat([head, Buffer.alloc(SIZE, "x")]);
    const reader = new PostgresMessageReader(1 << 20);
    const copied = countCopies();
    let found = 0;
    for (const piece of pieces(message, size)) {
      for (const { body } of reader.read(piece)) found += body.length;
    }
    expect(found).toBe(SIZE);
    expect(copied()).toBeLessThan(4 * message.length);
  });

  test.each([1, 7, 1_000])("answers of Kafka in pieces of %d", (size) => {
    const bytes = Buffer.concat([1, 2, 3].map((n) => framed(Buffer.alloc(SIZE, n))));
    const reader = byPrefix();
    const copied = countCopies();
    let found = 0;
    for (const piece of pieces(bytes, size)) for (const _ of reader.read(piece)) found += 1;
    expect(found).toBe(3);
    expect(copied()).toBeLessThan(4 * bytes.length);
  });

  test("many short frames in one large piece, the last one cut", () => {
    const bytes = Buffer.concat(Array.from({ length: 10_000 }, () => framed(Buffer.alloc(6))));
    const reader = byPrefix();
    const copied = countCopies();
    let found = 0;
    for (const piece of pieces(bytes, 50_003)) for (const _ of reader.read(piece)) found += 1;
    expect(found).toBe(10_000);
    expect(copied()).toBeLessThan(bytes.length);
  });

  test("an HTTP response, in pieces of 1", () => {
    const head = `HTTP/1.1 200 OK\r\nX: ${"x".repeat(15_000)}\r\nContent-Length: 20000\r\n\r\n`;
    const bytes = Buffer.from(`${head}${"y".repeat(20_000)}`);
    const reader = new ResponseReader("POST", 1 << 20);
    const copied = countCopies();
    let isDone = false;
    for (const piece of pieces(bytes, 1)) isDone = reader.push(piece);
    expect([isDone, reader.status, reader.body.length]).toEqual([true, 200, 20_000]);
    expect(copied()).toBeLessThan(4 * bytes.length);
  });
});

test("frames are the same however they are cut, and stay as they are when more is received", () => {
  const bodies = fc.array(fc.uint8Array({ maxLength: 600 }), { maxLength: 12 });
  const cuts = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(bodies, cuts, (given, sizes) => {
      const bytes = Buffer.concat(given.map((body) => framed(Buffer.from(body))));
      const reader = byPrefix();
      const found: Buffer[] = [];
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const size = sizes[n % sizes.length]!;
        // A socket may use its buffer again.
        const piece = Buffer.from(bytes.subarray(at, at + size));
        found.push(...reader.read(piece));
        at += size;
      }
      expect(found.map((frame) => [...frame.subarray(4)])).toEqual(given.map((body) => [...body]));
    }),
  );
});
