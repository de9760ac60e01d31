import { expect, test } from "bun:test";
import { type Call, isLinear } from "./checker.ts";
import { type Answer, groupRules, type Request, withEvidence } from "./group.ts";

/**
 * Builds a history of calls: each begins after the previous response, unless it has explicit times.
 */
function history(...calls: [Request, (Answer | undefined)?, number?, number?][]) {
  return calls.map(([request, answer, from, to], at): Call<Request, Answer> => {
    const calledAt = from ?? 10 * at;
    if (answer === undefined) return { request, calledAt, answeredAt: Number.POSITIVE_INFINITY };
    return { request, answer, calledAt, answeredAt: to ?? calledAt + 5 };
  });
}
const isExplained = (calls: Call<Request, Answer>[]) => isLinear(groupRules, withEvidence(calls));

const DONE: Answer = { outcome: "done" };
const shows = (...seen: string[]): Answer => ({ outcome: "done", seen });
const library = (thing: string): Request => ({
  ...{ verb: "create", kind: "library", thing, version: thing, publishes: true },
  ...{ code: { imports: false }, describes: true, links: [] },
});
const made = (thing: string) => shows(`version ${thing} code ${thing} described ${thing}`);
const draft: Request = {
  ...{ verb: "create", kind: "transformation", thing: "1", version: "1", publishes: false },
  ...{ code: { imports: false }, describes: true, links: [] },
};
const revise = (version: string, part: "code" | "description"): Request => ({
  ...{ verb: "revise", kind: "transformation", thing: "1", version, publishes: false, links: [] },
  ...(part === "code" && { code: { imports: false } }),
  describes: part === "description",
});
const readVersions: Request = {
  ...{ verb: "read", kind: "transformation", thing: "1", what: "versions" },
};
const source: Request = { verb: "make", of: "source", thing: "1", name: "1" };
const rename: Request = { verb: "rename", of: "source", thing: "1", name: "2" };
const get: Request = { verb: "get", of: "source", thing: "1" };

test("a stale read of a group is a violation", () => {
  const read = (seen: string) => history([source, DONE], [rename, DONE], [get, shows(seen)]);
  expect(isExplained(read("1: 2"))).toBe(true);
  expect(isExplained(read("1: 1"))).toBe(false);
});

test("a lost update of a group is a violation, although both updates succeeded", () => {
  const [first, code] = ["version 1 code 1 described 1", "version 2 code 2 described 1"];
  const both = (last: string) =>
    history(
      [draft, shows(first), 0, 5],
      [revise("2", "code"), shows(code), 10, 30],
      [revise("3", "description"), shows(last), 10, 30],
      [readVersions, shows(first, code, last), 40, 45],
    );
  expect(isExplained(both("version 3 code 2 described 3"))).toBe(true);
  expect(isExplained(both("version 3 code 1 described 3"))).toBe(false);
});

test("two winners of one import name are found", () => {
  const both = (answer: Answer) =>
    history([library("1"), made("1"), 0, 20], [library("2"), answer, 0, 20]);
  expect(isExplained(both({ outcome: "conflict" }))).toBe(true);
  expect(isExplained(both(made("2")))).toBe(false);
});

test("two transformations of one destination are a violation", () => {
  const make: Request = { verb: "make", of: "destination", thing: "9", name: "9" };
  const live = (thing: string): Request => ({
    ...{ verb: "create", kind: "transformation", thing, version: thing, publishes: true },
    ...{ code: { imports: false }, describes: true, links: ["9"] },
  });
  const list: Request = { verb: "list", kind: "transformation", what: "published" };
  const shown = (thing: string, linked: string) =>
    `${thing}: version ${thing} code ${thing} described ${thing}, live for ${linked}`;
  const both = (...seen: string[]) =>
    history([make, DONE], [live("1"), made("1")], [live("2"), made("2")], [list, shows(...seen)]);
  expect(isExplained(both(shown("1", ""), shown("2", "9")))).toBe(true);
  expect(isExplained(both(shown("1", "9"), shown("2", "9")))).toBe(false);
});

test("a partly applied publish is a violation", () => {
  const items = ["1", "2"].map((thing) => ({
    ...{ kind: "transformation" as const, thing, version: thing },
  }));
  const drafts = items.map(({ thing }): [Request, Answer] => [
    { ...draft, thing, version: thing } as Request,
    made(thing),
  ]);
  const list: Request = { verb: "list", kind: "transformation", what: "published" };
  const live = ["1", "2"].map((it) => `${it}: version ${it} code ${it} described ${it}, live for `);
  const listed = (...seen: string[]) =>
    history(...drafts, [{ verb: "publish", items }], [list, shows(...seen)]);
  expect(isExplained(listed(...live))).toBe(true);
  expect(isExplained(listed())).toBe(true);
  expect(isExplained(listed(live[0]!))).toBe(false);
});

test("a call without a response may have taken effect or not, until a read shows it", () => {
  const calls = (...reads: string[]) =>
    history(
      [source, DONE],
      [rename],
      ...reads.map((it): [Request, Answer] => [get, shows(`1: ${it}`)]),
    );
  expect(isExplained(calls("1", "1", "2", "2"))).toBe(true);
  expect(isExplained(calls("1", "2", "1"))).toBe(false);
});
