import { expect, test } from "bun:test";
import { currentState, hashOfState, tagged, tagHeader } from "../../../src/api/entity-tag.ts";

test("the tag of a resource has 132 bits of a hash of its state, in quotes", () => {
  const answer = { name: "a", text: "x".repeat(1_000) };
  const { ETag } = tagHeader(tagged(answer));
  expect(ETag).toMatch(/^"[\w-]{22}"$/);
  expect(tagHeader(tagged({ ...answer }))).toEqual({ ETag });
  expect(tagHeader(tagged({ ...answer, text: `${answer.text}y` }))).not.toEqual({ ETag });
});

test("the tag of an answer is that of the state, without what changes beside it", () => {
  const answer = { name: "a", lag: 7 };
  const found = tagged(answer, { name: "a" });
  expect(found.answer).toBe(answer);
  expect(found.tag).toBe(hashOfState({ name: "a" }));
  expect(found.tag).not.toBe(hashOfState(answer));
});

test("the error about a changed resource has the time of the change, if that is known", () => {
  const now = tagged({});
  const told = (times: { updatedAt?: string }) =>
    currentState("source", now, times).changeSince([]);
  expect(told({ updatedAt: "12:00" })).toBe("the source has changed, last at 12:00");
  expect(told({})).toBe("the source has changed");
  expect(currentState("source", now, {}).now).toBe(now);
});
