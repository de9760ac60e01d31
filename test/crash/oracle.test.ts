import { describe, expect, test } from "bun:test";
import { lettersFaults } from "./letters.ts";
import { Register } from "./register.ts";

describe("register that each write increments", () => {
  /** Register whose writes 1 and 3 were acknowledged, 2 was not, and 4 is in flight. */
  function written(): Register {
    const register = new Register();
    for (let value = 1; value <= 4; value++) register.next();
    for (const value of [1, 3]) register.acknowledge(value);
    return register;
  }

  test.each([
    ["the last acknowledged value", 3],
    ["the value of a write in flight", 4],
    ["the value of a late write without a response", 2],
  ])("a read may return %s", (_, seen) => expect(written().fault(3, seen)).toBeUndefined());

  test("a read is stale if a later write was acknowledged before the read", () => {
    expect(written().fault(3, 1)).toBe("1 was read after 3 was answered");
  });

  test("a read may return the older value if the write is acknowledged during the read", () => {
    expect(written().fault(1, 1)).toBeUndefined();
  });

  test("a read of a value that no client wrote is a fault", () => {
    expect(written().fault(3, 5)).toBe("5 was read, which no client wrote");
  });
});

describe("dead letters of several nodes", () => {
  const letters = (...eventIds: string[]) => eventIds.map((eventId) => ({ eventId, stage: "t" }));

  test("equal dead letters in another order are no fault", () => {
    const [one, other] = [letters("a", "b"), letters("b", "a")];
    expect(lettersFaults([one, other])).toEqual([]);
  });

  test("two dead letters of one event are a fault", () => {
    const doubled = letters("a", "b", "a");
    expect(lettersFaults([doubled])).toEqual(["1 doubled dead letters, as a"]);
  });

  test("different dead letters on two nodes are a fault", () => {
    const faults = ["node 2 knows 1 dead letters, node 1 2"];
    expect(lettersFaults([letters("a", "b"), letters("a")])).toEqual(faults);
  });
});
