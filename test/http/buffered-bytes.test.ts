import { describe, expect, test } from "bun:test";
import { BufferedBytes } from "../../src/http/buffered-bytes.ts";
import {
  HTTP_HEAD_BYTES_MAX,
  HTTP_WAITING_BYTES_MAX,
  HTTP_WAITING_BYTES_PER_NETWORK_MAX,
} from "../../src/settings/limits.ts";

describe("the bytes that connections buffer", () => {
  test("are bounded for one network, and not for a trusted proxy", () => {
    const bytes = new BufferedBytes();
    bytes.add("a", HTTP_WAITING_BYTES_PER_NETWORK_MAX);
    expect([bytes.isOver("a", 1), bytes.all]).toEqual([false, HTTP_WAITING_BYTES_PER_NETWORK_MAX]);
    bytes.add("a", 1);
    bytes.add("b", 1);
    bytes.add(undefined, HTTP_WAITING_BYTES_PER_NETWORK_MAX + 1);
    expect(["a", "b", undefined].map((it) => bytes.isOver(it, 1))).toEqual([true, false, false]);
    bytes.add("a", -1);
    expect(bytes.isOver("a", 1)).toBe(false);
    bytes.add("a", -HTTP_WAITING_BYTES_PER_NETWORK_MAX);
    bytes.add("a", HTTP_WAITING_BYTES_PER_NETWORK_MAX);
    expect(bytes.isOver("a", 1)).toBe(false);
  });

  test("are bounded in all, for large requests at three quarters", () => {
    const bytes = new BufferedBytes();
    const large = HTTP_HEAD_BYTES_MAX + 1;
    bytes.add(undefined, 0.75 * HTTP_WAITING_BYTES_MAX);
    expect(bytes.isOver("a", large)).toBe(false);
    bytes.add(undefined, 1);
    expect([bytes.isOver("a", large), bytes.isOver("a", large - 1)]).toEqual([true, false]);
    bytes.add(undefined, 0.25 * HTTP_WAITING_BYTES_MAX - 1);
    expect(bytes.isOver("a", 1)).toBe(false);
    bytes.add(undefined, 1);
    expect([bytes.isOver("a", 1), bytes.isOver(undefined, 1)]).toEqual([true, true]);
  });
});
