import { describe, expect, test } from "bun:test";
import { inspectQuery } from "../../src/event/inspect.ts";

const IDS = "writeKey=k&anonymousId=a";

describe("a query is accepted", () => {
  for (const [query, type] of [
    ["writeKey=k&userId=u", "page"],
    ["anonymousId=a&writeKey=k", "page"],
    ["writeKey=%6B&anonymousId=%22a%22", "page"],
    ["write%4Bey=k&user%49d=u", "page"],
    ["writeKey=k&writeKey=other&userId=u", "page"],
    [`${IDS}&event=e`, "track"],
    // Only those of an AMP client id are ignored.
    [`${IDS}&event=%22%22`, "track"],
    ["writeKey=k&userId=%22%22", "page"],
    [`${IDS}&a${".b".repeat(15)}=1`, "page"],
    [`${IDS}&${"=&".repeat(998)}`, "page"],
  ] as const) {
    test(`${type} ${query.slice(0, 60)}`, () => {
      expect(inspectQuery(query, type)).toEqual({ problem: undefined, writeKey: "k", user: 0 });
    });
  }
});

describe("a query is refused", () => {
  const key = "Expected the query parameter writeKey";
  const ids = "Request neither has anonymousId nor userId";
  const event = "Expected the query parameter event, which must not be blank";
  for (const [query, type, problem] of [
    ["", "page", key],
    ["anonymousId=a", "page", key],
    ["writeKey=&writeKey=k&anonymousId=a", "page", key],
    ["writekey=k&anonymousId=a", "page", key],
    ["writeKey.x=k&anonymousId=a", "page", key],
    ["writeKeys=k&anonymousId=a", "page", key],
    ["writeKe=k&anonymousId=a", "page", key],
    ["writeKey=k&userIds=u&anonymousIdx=a", "page", ids],
    ["writeKey=k&userId= &anonymousId=  ", "page", ids],
    ["writeKey=k", "page", ids],
    ["writeKey=k&userId=+&anonymousId=%20%C2%A0", "page", ids],
    ["writeKey=k&anonymousId=%22%22", "page", ids],
    ["writeKey=k&userId=&userId=u", "page", ids],
    ["writeKey=k&userId.x=u", "page", ids],
    [IDS, "track", event],
    [`${IDS}&event=+`, "track", event],
    [`${IDS}&event=&event=e`, "track", event],
    [`${IDS}&a${".b".repeat(16)}=1`, "page", "Expected at most 16 levels in a parameter name"],
    [`${IDS}&${"=&".repeat(999)}`, "page", "Expected at most 1000 parameters"],
  ] as const) {
    test(`${type} ${query.slice(0, 60)}`, () => {
      expect(inspectQuery(query, type).problem).toBe(problem);
    });
  }

  test("whose arrays have too many gaps", () => {
    const problemOf = (query: string) => inspectQuery(`${IDS}&${query}`, "page").problem;
    const tooMany = "Expected arrays with at most 500 gaps in all";
    expect(problemOf("a.500=")).toBeUndefined();
    expect(problemOf("a.501=")).toBe(tooMany);
    expect(problemOf("a.250=&b.c.251=")).toBe(tooMany);
    expect(problemOf("a.501=&a.0=")).toBeUndefined();
    const dense = Array.from({ length: 900 }, (_, i) => `a.${899 - i}=`).join("&");
    expect(problemOf(dense)).toBeUndefined();
  });
});
