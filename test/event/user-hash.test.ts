import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { eventOf } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import { userHashOf } from "../../src/event/record-user.ts";
import { recordOf } from "./agreement.ts";

const hashOf = (ids: string) => inspectQuery(`writeKey=k&${ids}`, "page", true).user;

/** An independent implementation: FNV-1a of the id's JSON text, then MurmurHash3's last steps. */
function expectedHash(id: string): number {
  let hash = 0x811c9dc5n;
  for (const byte of new TextEncoder().encode(JSON.stringify(id.toWellFormed()).slice(1, -1))) {
    hash = BigInt.asUintN(32, (hash ^ BigInt(byte)) * 0x01000193n);
  }
  hash = BigInt.asUintN(32, (hash ^ (hash >> 16n)) * 0x85ebca6bn);
  hash = BigInt.asUintN(32, (hash ^ (hash >> 13n)) * 0xc2b2ae35n);
  return Number(hash ^ (hash >> 16n));
}

describe("the user hash", () => {
  // Where records are kept by user these numbers decide where: they are the same for good.
  test.each([
    ["userId=u", 910896560],
    ["anonymousId=0f9f2b5c-3a43-4d5e-8a1e-8d7f0c1b2a39", 130024228],
    ["userId=%E2%82%AC+%22quoted%22", 2549292203],
    ["userId=user%40example.com", 1425145732],
  ])("%s is always %p", (ids, hash) => {
    expect(hashOf(ids)).toBe(hash);
  });

  test.each([
    ["the userId before the anonymousId", "anonymousId=b&userId=a", "userId=a"],
    ["the anonymousId where the userId is blank", "userId=+&anonymousId=a", "userId=a"],
    ["the first of several", "userId=a&userId=b", "userId=a"],
    ["the id without AMP's quotes", "anonymousId=%22a%22", "userId=a"],
    ["the whole id where one of AMP's quotes is missing", "anonymousId=%22abc", "userId=%22abc"],
    ["the whole id where the other one is missing", "anonymousId=abc%22", "userId=abc%22"],
    ["the whole id that is one quote", "anonymousId=%22", "userId=%22"],
    ["the whole id that ends with another escape", "anonymousId=%22abc%0A", "userId=%22abc%0A"],
    ["the whole id that begins with another escape", "anonymousId=%0Aabc%22", "userId=%0Aabc%22"],
    ["the id however it is encoded", "userId=%61%c3%a9+b", "userId=a%C3%A9%20b"],
    ["the id under an encoded name", "%75serId=a", "userId=a"],
  ])("is that of %s", (_, ids, same) => {
    expect(hashOf(ids)).toBe(hashOf(same));
    expect(hashOf(ids)).not.toBe(hashOf("userId=other"));
  });

  test("is that of the user in a query whose arrays are so long that their gaps are counted", () => {
    const items = Array.from({ length: 40 }, (_, index) => `&items.${index}=x`).join("");
    for (const id of ["userId=a%40b.c", "anonymousId=%22a%40b.c%22"]) {
      expect(hashOf(`title=%41%42%43&${id}${items}`)).toBe(hashOf("userId=a@b.c"));
    }
  });

  test("is that of the event's user for any query", () => {
    const id = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.constant(" "));
    const encodings = [
      encodeURIComponent,
      (it: string) => new URLSearchParams({ it }).toString().slice(3),
      everyByte,
    ];
    const pair = fc
      .tuple(
        fc.constantFrom("userId", "anonymousId", "userId.a", "x"),
        id,
        fc.boolean(),
        fc.constantFrom(...encodings),
      )
      .map(
        ([name, value, isQuoted, encode]) =>
          `${name}=${encode((isQuoted ? `"${value}"` : value).toWellFormed())}`,
      );
    fc.assert(
      fc.property(fc.array(pair, { minLength: 1, maxLength: 4 }), (pairs) => {
        const query = ["writeKey=k", ...pairs].join("&");
        const { problem, user } = inspectQuery(query, "page", true);
        fc.pre(problem === undefined);
        const record = recordOf(query);
        expect(user).toBe(expectedHash(eventOf(record).user));
        expect(userHashOf(record)).toBe(user);
      }),
      { numRuns: 2_000 },
    );
  });

  test("spreads ids of one form evenly over partitions", () => {
    for (const partitions of [2, 3, 12, 16]) {
      const counts = new Array<number>(partitions).fill(0);
      for (let i = 0; i < 12_000; i++)
        counts[hashOf(`userId=${100_000 + 2 * i}`) % partitions]! += 1;
      const fair = 12_000 / partitions;
      expect(Math.max(...counts) / fair).toBeLessThan(1.2);
      expect(Math.min(...counts) / fair).toBeGreaterThan(0.8);
    }
  });
});

const everyByte = (text: string) =>
  [...new TextEncoder().encode(text)].map((it) => `%${it.toString(16).padStart(2, "0")}`).join("");
