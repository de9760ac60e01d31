import { describe, expect, test } from "bun:test";
import { lettersFaults } from "./letters.ts";
import { Register } from "./register.ts";

describe("a value that each write raises", () => {
  /** 1 and 3 were answered, 2 was not, and 4 is on its way. */
  function written(): Register {
    const register = new Register();
    for (let value = 1; value <= 4; value++) register.next();
    for (const value of [1, 3]) register.acknowledge(value);
    return register;
  }

  test.each([
    ["the last that was answered", 3],
    ["one that is on its way", 4],
    ["one whose answer never came, however late it takes effect", 2],
  ])("may be seen as %s", (_, seen) => expect(written().fault(3, seen)).toBeUndefined());

  test("is stale when a later one was answered before it was read", () => {
    expect(written().fault(3, 1)).toBe("1 was read after 3 was answered");
  });

  test("may be older when the later one was answered while it was read", () => {
    expect(written().fault(1, 1)).toBeUndefined();
  });

  test("is never one that no client wrote", () => {
    expect(written().fault(3, 5)).toBe("5 was read, which no client wrote");
  });
});

describe("dead letters as the nodes know them", () => {
  const letters = (...eventIds: string[]) => eventIds.map((eventId) => ({ eventId, stage: "t" }));

  test("are the same on all, whatever their order", () => {
    const [one, other] = [letters("a", "b"), letters("b", "a")];
    expect(lettersFaults([one, other])).toEqual([]);
  });

  test("are doubled when two are of one event", () => {
    const doubled = letters("a", "b", "a");
    expect(lettersFaults([doubled])).toEqual(["1 doubled dead letters, as a"]);
  });

  test("differ when one node knows another", () => {
    const faults = ["node 2 knows 1 dead letters, node 1 2"];
    expect(lettersFaults([letters("a", "b"), letters("a")])).toEqual(faults);
  });
});
