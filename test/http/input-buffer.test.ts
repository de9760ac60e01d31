import { expect, test } from "bun:test";
import fc from "fast-check";
import { InputBuffer } from "../../src/http/input-buffer.ts";

const act = fc.oneof(
  fc.record({
    append: fc.uint8Array({ maxLength: 20 }),
    expected: fc.option(fc.nat(60), { nil: undefined }),
  }),
  fc.record({ consume: fc.nat(30) }),
  fc.record({ spare: fc.nat(20) }),
  fc.constant("drop" as const),
);

test("the bytes of a connection that wait are those that came and were not consumed", () => {
  fc.assert(
    fc.property(fc.array(act), (acts) => {
      const input = new InputBuffer();
      let waiting = Buffer.alloc(0);
      for (const it of acts) {
        if (it === "drop") {
          input.shrink(0);
          waiting = Buffer.alloc(0);
        } else if ("append" in it) {
          input.append(Buffer.from(it.append), it.expected);
          waiting = Buffer.concat([waiting, it.append]);
        } else if ("consume" in it) {
          const count = Math.min(it.consume, waiting.length);
          input.at += count;
          waiting = waiting.subarray(count);
        } else input.shrink(waiting.length + it.spare);
        expect(input.length).toBe(waiting.length);
        expect(input.bytes.subarray(input.at, input.end)).toEqual(waiting);
      }
    }),
  );
});

test("bytes are taken over while none wait, and the buffer then doubles up to what is expected", () => {
  const input = new InputBuffer();
  const first = Buffer.from("first");
  input.append(first);
  expect(input.bytes).toBe(first);
  const lengths = ["2", "345678", "9", "0123456"].map((text) => {
    input.append(Buffer.from(text), 16);
    return input.bytes.length;
  });
  // More than is expected has room, too.
  expect(lengths).toEqual([10, 12, 16, 20]);
  input.at = input.end;
  const next = Buffer.from("next");
  input.append(next);
  expect(input.bytes).toBe(next);
});

test("a buffer is replaced by a smaller one if less than half of it is needed", () => {
  const input = new InputBuffer();
  const bytes = Buffer.from("0123456789");
  input.append(bytes);
  input.at = 6;
  input.shrink(5);
  expect(input.bytes).toBe(bytes);
  input.shrink(4);
  expect([input.bytes.toString(), input.at, input.end]).toEqual(["6789", 0, 4]);
  input.shrink(0);
  expect([input.bytes.length, input.at, input.end]).toEqual([0, 0, 0]);
});

test("a search goes on where it ended, also in a buffer that was moved", () => {
  const input = new InputBuffer();
  input.append(Buffer.from("0123456789"));
  input.searched = 8;
  input.at = 3;
  input.append(Buffer.from("a"));
  expect([input.at, input.searched]).toEqual([0, 5]);
  input.at = 6;
  input.append(Buffer.from("b"));
  expect(input.searched).toBe(0);
  input.at = input.end;
  input.searched = 5;
  input.append(Buffer.from("c"));
  expect(input.searched).toBe(0);
});
