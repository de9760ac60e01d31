import { expect, test } from "bun:test";
import { markVersion4, uuidText } from "../../src/event/uuid.ts";

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
