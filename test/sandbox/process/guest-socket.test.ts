import { afterEach, expect, test } from "bun:test";
import { closeSync, readlinkSync, writeSync } from "node:fs";
import { GuestSocket, socketPair } from "../../../src/sandbox/process/guest-socket.ts";
import { eventually } from "../support.ts";

/** More than the kernel holds for a socket. */
const BYTES = 3 << 20;
const PARTS = 3;

const open: GuestSocket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.close();
});

function opened() {
  const [fd, guestsFd] = socketPair();
  const chunks: Buffer[] = [];
  const bytes = () => chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const seen = { ends: 0, bytes, received: () => Buffer.concat(chunks) };
  const socket = new GuestSocket(fd, {
    onChunk: (chunk) => chunks.push(chunk),
    onEnd: () => {
      seen.ends += 1;
    },
  });
  open.push(socket);
  return { socket, fd, guestsFd, seen };
}

test("bytes arrive complete and in order, also when the kernel cannot buffer them", async () => {
  const { socket, guestsFd, seen } = opened();
  const echo = Bun.spawn(["cat"], { stdin: guestsFd, stdout: guestsFd });
  closeSync(guestsFd);
  const text = Buffer.from(Uint8Array.from({ length: BYTES }, (_, n) => n % 251));
  for (let n = 0; n < PARTS; n += 1) {
    const part = Buffer.from(text.subarray((n * BYTES) / PARTS, ((n + 1) * BYTES) / PARTS));
    socket.send(part);
    // The memory is the caller's again: a frame's writer writes the next frame into it.
    part.fill(0);
  }
  await eventually(() => seen.bytes() === BYTES);
  expect(seen.received().equals(text)).toBe(true);
  echo.kill("SIGKILL");
  await eventually(() => seen.ends === 1);
});

test("the memory of a chunk belongs to its receiver", async () => {
  const { guestsFd, seen } = opened();
  writeSync(guestsFd, "first");
  await eventually(() => seen.bytes() === 5);
  writeSync(guestsFd, "later");
  await eventually(() => seen.bytes() === 10);
  expect(seen.received().toString()).toBe("firstlater");
  closeSync(guestsFd);
});

test("a guest that closes its end is reported once, and sending to it fails", async () => {
  const { socket, fd, guestsFd, seen } = opened();
  closeSync(guestsFd);
  await eventually(() => seen.ends === 1);
  expect(() => socket.send(Buffer.from("?"))).toThrow("Guest has closed its socket");
  socket.close();
  expect(seen.ends).toBe(1);
  expect(() => readlinkSync(`/proc/self/fd/${fd}`)).toThrow();
});

test("unsent frames for a guest that is gone are dropped", async () => {
  const { socket, guestsFd, seen } = opened();
  socket.send(Buffer.alloc(BYTES));
  socket.send(Buffer.alloc(BYTES));
  closeSync(guestsFd);
  await eventually(() => seen.ends === 1);
});
