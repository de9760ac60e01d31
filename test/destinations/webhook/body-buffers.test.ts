import { expect, test } from "bun:test";
import { BodyBuffers } from "../../../src/destinations/webhook/body-buffers.ts";
import { REQUEST_HEAD_ROOM_BYTES } from "../../../src/egress/http-client.ts";

test("memory of a body is reused only after it was released", () => {
  const buffers = new BodyBuffers();
  const [one, other] = [buffers.take(100), buffers.take(100)];
  expect(one.buffer).not.toBe(other.buffer);
  buffers.give(one);
  expect(buffers.take(200).buffer).toBe(one.buffer);
  expect(buffers.take(200).buffer).not.toBe(one.buffer);
});

test("a body has room for the head of its request, and its own length", () => {
  const buffers = new BodyBuffers();
  for (const length of [1, 100_000, 300_000]) {
    const body = buffers.take(length);
    expect([body.length, body.byteOffset]).toEqual([length, REQUEST_HEAD_ROOM_BYTES]);
    buffers.give(body);
  }
});

test("memory that is free is bounded: large bodies keep none", () => {
  const buffers = new BodyBuffers();
  const large = buffers.take(1 << 20);
  buffers.give(large);
  expect(buffers.take(1 << 20).buffer).not.toBe(large.buffer);
  const small = Array.from({ length: 100 }, () => buffers.take(100));
  for (const body of small) buffers.give(body);
  const reused = Array.from({ length: 100 }, () => buffers.take(100).buffer);
  const before = new Set(small.map(({ buffer }) => buffer));
  expect(reused.filter((buffer) => before.has(buffer)).length).toBe(16);
});
