import { expect, test } from "bun:test";
import { SharedBytes, type Trimmable } from "../../src/pipeline/recent/shared-bytes.ts";

/** A part of memory that is only a number of bytes. */
class Part implements Trimmable {
  bytes = 0;

  trimTo(bytesMax: number): void {
    this.bytes = Math.min(this.bytes, Math.floor(bytesMax));
  }
}

const BYTES_MAX = 100;

function setup() {
  const shared = new SharedBytes<Part>();
  const grow = (key: string, bytes: number) => {
    const part = shared.get(key) ?? new Part();
    shared.change(key, part, BYTES_MAX, () => {
      part.bytes += bytes;
    });
  };
  const sizes = () =>
    Object.fromEntries([...shared.parts()].map(([key, part]) => [key, part.bytes]));
  return { shared, grow, sizes };
}

test("a part uses what the others leave free", () => {
  const { shared, grow, sizes } = setup();
  grow("small", 10);
  grow("large", 90);
  expect([sizes(), shared.bytes]).toEqual([{ small: 10, large: 90 }, 100]);
});

test("a part beyond its share gives way to itself, and the others stay", () => {
  const { shared, grow, sizes } = setup();
  grow("quiet", 50);
  grow("busy", 50);
  grow("busy", 10);
  expect([sizes(), shared.bytes]).toEqual([{ quiet: 50, busy: 50 }, 100]);
});

test("the parts beyond their share give way to one below it", () => {
  const { shared, grow, sizes } = setup();
  grow("large", 100);
  grow("small", 10);
  expect([sizes(), shared.bytes]).toEqual([{ large: 37, small: 10 }, 47]);
});

test("parts without bytes are forgotten and have no share", () => {
  const { shared, grow, sizes } = setup();
  grow("empty", 0);
  expect(sizes()).toEqual({});
  grow("one", 80);
  shared.trimTo(0);
  expect([sizes(), shared.bytes]).toEqual([{}, 0]);
});
