import { expect, test } from "bun:test";
import { constants, gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { inflate } from "../../../src/ingest/sdk/body-content.ts";
import { loadText } from "../../../src/json/json-scanner.ts";
import { runs } from "../../tier.ts";

const BYTES_MAX = 400_000;

/** The result of `gunzipSync` for the data, in the terms of `inflate`. */
function expected(gzip: Buffer, bytesMax = BYTES_MAX): Buffer | "large" | "damaged" {
  try {
    return gunzipSync(gzip, { maxOutputLength: bytesMax });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? "large" : "damaged";
  }
}

/** Whether both refuse data that is too large and damaged, each for its own reason. */
function areBoth(found: Buffer | string, wanted: Buffer | string, gzip: Buffer): boolean {
  const refused = typeof found === "string" && typeof wanted === "string";
  return refused && expected(gzip, 100 * BYTES_MAX) === "damaged";
}

function expectSame(gzip: Buffer): void {
  const found = inflate(gzip, BYTES_MAX);
  const wanted = expected(gzip);
  const isEqual =
    typeof found === "string" || typeof wanted === "string"
      ? found === wanted
      : found.equals(wanted);
  const isSame = isEqual || areBoth(found, wanted, gzip);
  expect({ isSame, gzip: gzip.length }).toEqual({ isSame: true, gzip: gzip.length });
}

const content = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.string({ minLength: 1, maxLength: 20 }), fc.nat({ max: 300_000 }))
    .map(([text, length]) => Buffer.alloc(length, text)),
);
const level = fc.constantFrom(constants.Z_NO_COMPRESSION, constants.Z_BEST_SPEED, 6);
const member = fc.tuple(content, level).map(([bytes, level]) => gzipSync(bytes, { level }));
const damage = fc.oneof(
  fc.constant((gzip: Buffer) => gzip),
  fc.nat().map((at) => (gzip: Buffer) => gzip.subarray(0, at % (gzip.length + 1))),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => (gzip: Buffer) => {
    const changed = Buffer.from(gzip);
    if (gzip.length > 0) changed[at % gzip.length]! ^= bits;
    return changed;
  }),
  fc
    .uint8Array({ minLength: 1, maxLength: 30 })
    .map((more) => (gzip: Buffer) => Buffer.concat([gzip, more])),
  fc.nat({ max: 40 }).map((zeros) => (gzip: Buffer) => Buffer.concat([gzip, Buffer.alloc(zeros)])),
);

test("gzip data is decompressed or refused as gunzipSync does it, whatever came before", () => {
  fc.assert(
    fc.property(fc.array(member, { maxLength: 3 }), damage, (members, damaged) => {
      expectSame(damaged(Buffer.concat(members)));
    }),
    { numRuns: runs(300, 20_000) },
  );
});

test("data of any size around the working memory and the bound is decompressed up to the bound", () => {
  const sizes = [0, 1, 16_319, 16_320, 131_072, 262_144, BYTES_MAX - 64, BYTES_MAX - 1, BYTES_MAX];
  for (const size of [...sizes, BYTES_MAX + 1, BYTES_MAX + 64, BYTES_MAX + 65, 50 * BYTES_MAX]) {
    const gzip = gzipSync(Buffer.alloc(size, "abcdefg"));
    expectSame(gzip);
    // The trailer may state another size.
    for (const stated of [0, size + 1, 2 ** 32 - 1]) {
      const lying = Buffer.from(gzip);
      lying.writeUInt32LE(stated, gzip.length - 4);
      expectSame(lying);
    }
  }
});

test("gzip data of any length that ends too early is damaged", () => {
  const gzip = gzipSync("abc");
  for (let length = 0; length <= gzip.length; length++) expectSame(gzip.subarray(0, length));
});

test("decompressed text is scanned in place", () => {
  const text = Buffer.from(JSON.stringify({ text: "x".repeat(200_000) }));
  const found = inflate(gzipSync(text), BYTES_MAX) as Buffer;
  const scanned = loadText(found);
  expect(scanned.buffer).toBe(found.buffer);
  expect(scanned.subarray(0, text.length).equals(text)).toBe(true);
  // Bytes of an earlier, longer text are no part of this one.
  expect([...scanned.subarray(text.length, text.length + 8)]).toEqual(new Array(8).fill(0));
});
