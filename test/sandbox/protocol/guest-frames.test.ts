import { expect, onTestFinished, spyOn, test } from "bun:test";
import {
  decodeFrame,
  decodeGuestReply,
  GuestFrameError,
  GuestFrameReader,
  GuestFrameWriter,
  jsonArrayBytes,
} from "../../../src/sandbox/protocol/guest-frames.ts";

/** A frame as its receiver reads it. */
const received = (frame: Buffer) => {
  expect(frame.readUInt32LE(0)).toBe(frame.length - 4);
  const { header, body } = decodeFrame(Buffer.from(frame.subarray(4)));
  return { header, body: body.toString() };
};

test.each([[[]], [[3]], [[3, 4]], [[1, 1, 1]]])(
  "values of %j bytes are one JSON array, whose size is known before",
  (sizes) => {
    const texts = sizes.map((size) => Buffer.alloc(size, "1"));
    const { body } = received(new GuestFrameWriter().write({}, [texts]));
    expect(JSON.parse(body)).toEqual(texts.map(Number));
    expect(jsonArrayBytes(texts)).toBe(body.length);
  },
);

test("texts of any characters arrive as they are, whatever is written after them", () => {
  const writer = new GuestFrameWriter();
  for (const text of ["€".repeat(5_000), "a".repeat(5_000), "🎈\n".repeat(9_000), ""]) {
    const frame = writer.write({ text }, [text, [Buffer.from("1")], text]);
    expect(received(frame)).toEqual({ header: { text }, body: `${text}[1]${text}` });
  }
});

test("the memory of a frame of up to 1 MiB is kept for later ones, and that of a larger one is not", () => {
  const writer = new GuestFrameWriter();
  const made = spyOn(Buffer, "allocUnsafeSlow");
  onTestFinished(() => made.mockRestore());
  /** Memory that is made for a frame for which this many bytes are reserved. */
  const madeFor = (bytes: number) => {
    made.mockClear();
    const besides = 4 + 3 * "{}".length + 1 + "[]".length;
    writer.write({}, [[Buffer.alloc(bytes - besides)]]);
    return made.mock.calls.map(([size]) => size);
  };
  const [least, kept] = [16 << 10, 1 << 20];
  expect([madeFor(100), madeFor(least)]).toEqual([[], []]);
  expect([madeFor(least + 1), madeFor(2 * least)]).toEqual([[2 * least], []]);
  expect([madeFor(kept), madeFor(kept)]).toEqual([[kept], []]);
  expect([madeFor(kept + 1), madeFor(kept + 1)]).toEqual([[2 * kept], [2 * kept]]);
  expect(madeFor(kept)).toEqual([]);
});

test.each([
  ["", "Expected a frame with a header"],
  ["{}", "Expected a frame with a header"],
  ["\n{}", "Expected a frame header of JSON"],
  ["{a}\n", "Expected a frame header of JSON"],
])("the frame %j is refused", (text, message) => {
  expect(() => decodeFrame(Buffer.from(text))).toThrow(new GuestFrameError(message));
});

test("a frame of a guest is refused without a header, or without the end of one", () => {
  const json = "Expected JSON of at most 4 levels and 65536 values";
  expect(() => decodeGuestReply(Buffer.from("\n{}"))).toThrow(new GuestFrameError(json));
  expect(() => decodeGuestReply(Buffer.from("{}"))).toThrow("within its limit");
});

test("a frame that is longer than its bound is refused before it has arrived", () => {
  const reader = new GuestFrameReader();
  reader.push(Buffer.from([6, 0, 0]));
  expect([reader.next(5), reader.bufferedBytes]).toEqual([undefined, 3]);
  reader.push(Buffer.from([0]));
  expect(() => reader.next(5)).toThrow("Expected a frame within its limit");
  expect([reader.next(6), reader.bufferedBytes]).toEqual([undefined, 4]);
  reader.push(Buffer.from("frame.next"));
  expect([reader.next(6)?.toString(), reader.bufferedBytes]).toEqual(["frame.", 4]);
});
