import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  isOfTime,
  markTimed,
  markVersion4,
  restOfTimedId,
  timedId,
  uuidText,
} from "../../src/event/uuid.ts";

test("random bytes become a UUID of version 4, and keep their other 122 bits", () => {
  expect(uuidText(markVersion4(new Uint8Array(16)))).toBe("00000000-0000-4000-8000-000000000000");
  const ones = new Uint8Array(16).fill(0xff);
  expect(uuidText(markVersion4(ones))).toBe("ffffffff-ffff-4fff-bfff-ffffffffffff");
  const bytes = Uint8Array.from({ length: 16 }, (_, n) => n * 0x11);
  expect(uuidText(markVersion4(bytes))).toBe("00112233-4455-4677-8899-aabbccddeeff");
  for (let n = 0; n < 100; n++) {
    const random = markVersion4(crypto.getRandomValues(new Uint8Array(16)));
    expect(uuidText(random)).toMatch(
      /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    );
  }
});

test("random bytes become a UUID of version 7 of a time, which its time and 8 bytes give back", () => {
  const ones = () => new Uint8Array(16).fill(0xff);
  expect(uuidText(markTimed(ones(), 0x0123456789ab))).toBe("01234567-89ab-7003-bfff-ffffffffffff");
  expect(isOfTime(markVersion4(ones()), 0xffffffffffff)).toBe(false);
  const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  fc.assert(
    fc.property(bytes, time, (random, ms) => {
      const id = markTimed(random, ms);
      expect(isOfTime(id, ms)).toBe(true);
      expect(isOfTime(id, ms + 1)).toBe(false);
      // A time beyond 48 bits has the same last bits.
      expect(isOfTime(id, ms + 2 ** 48)).toBe(false);
      expect(timedId(ms, Uint8Array.of(0, ...restOfTimedId(id)), 1)).toEqual(id);
    }),
  );
});
