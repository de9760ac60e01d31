import { expect, test } from "bun:test";
import {
  type OverviewProblem,
  problemKinds,
  problemsOf,
  withReason,
} from "../../../src/api/routes/status/problems.ts";
import type { LinkedTransformation } from "../../../src/api/routes/status/status-schema.ts";
import type { DestinationState } from "../../../src/api/routes/status/workspace-state.ts";
import { OVERVIEW_LAG_SECONDS_MIN } from "../../../src/settings/limits.ts";

const none = { troubles: [], warnings: [], missingNodes: [], destinations: [], code: [] };

function destination(over: Partial<DestinationState>): DestinationState {
  const usual = { id: "d", name: "Hook", state: "healthy", deadLetters: 0 };
  return { ...usual, lagSeconds: 0, lagEvents: 0, ...over } as DestinationState;
}

const problemOf = (over: Partial<DestinationState>) =>
  problemsOf({ ...none, destinations: [destination(over)] }, [])[0];

const since = "2026-01-01T00:00:00.000Z";
test.each([
  [{}, undefined],
  [{ state: "down", since, reason: "refused" }, ["destination-down", "Hook: refused"]],
  [{ state: "down", since }, ["destination-down", "Hook: down"]],
  [{ state: "failing", since }, ["destination-failing", "Hook: failing"]],
  [{ state: "failing" }, undefined],
  [{ state: "blocked", since }, undefined],
  [{ deadLetters: 1 }, ["dead-letters", "Hook has 1 dead letter", 1]],
  [{ deadLetters: 1_200 }, ["dead-letters", "Hook has 1,200 dead letters", 1_200]],
  [{ state: "down", since, deadLetters: 2 }, ["destination-down", "Hook: down", 2]],
  [{ lagSeconds: OVERVIEW_LAG_SECONDS_MIN - 1 }, undefined],
  [
    { lagSeconds: 7_200, lagEvents: 1 },
    ["destination-lagging", "Hook lags 2 h behind: 1 event pending"],
  ],
  [
    { lagSeconds: 7_200, lagEvents: 1_200, deadLetters: 3 },
    ["destination-lagging", "Hook lags 2 h behind: 1,200 events pending", 3],
  ],
  [{ lagSeconds: 7_200, lagEvents: 0, state: "blocked" }, undefined],
  [
    { lagSeconds: 7_200, lagEvents: 2, state: "blocked", deadLetters: 1 },
    ["dead-letters", "Hook has 1 dead letter", 1],
  ],
] as [Partial<DestinationState>, [string, string, number?] | undefined][])(
  "a destination with %j has the problem %j",
  (over, expected) => {
    const problem = problemOf(over);
    const [kind, message, count] = expected ?? [];
    const found = problem && [problem.kind, problem.message, problem.count, problem.destinationId];
    expect(found).toEqual(expected && [kind, message, count, "d"]);
  },
);

test("the shortest lag that is a problem has lasted since then", () => {
  const seconds = OVERVIEW_LAG_SECONDS_MIN;
  const found = problemOf({ lagSeconds: seconds })!;
  expect(found.kind).toBe("destination-lagging");
  const began = Date.now() - 1_000 * seconds;
  expect(Math.abs(Date.parse(found.since!) - began)).toBeLessThan(60_000);
});

test("problems are sorted by kind, then by their begin, then by dead letters", () => {
  expect(problemKinds).toEqual([
    ...(["not-ready", "node-missing", "destination-down", "suspended"] as const),
    ...(["destination-failing", "destination-lagging", "alert", "alert-receiver"] as const),
    ...(["dead-letters", "warning"] as const),
  ]);
  const at = (day: number) => `2026-01-0${day}T00:00:00.000Z`;
  const sorted: OverviewProblem[] = problemKinds.flatMap((kind) => [
    { kind, message: "a", since: at(1) },
    { kind, message: "b", since: at(2), count: 9 },
    { kind, message: "c", since: at(2), count: 1 },
    { kind, message: "d", since: at(2) },
    { kind, message: "e", count: 9 },
    { kind, message: "f", count: 2 },
    { kind, message: "g" },
  ]);
  for (const given of [sorted, sorted.toReversed()]) {
    expect(problemsOf(none, given)).toEqual(sorted);
  }
});

test("troubles, missing nodes and warnings of the server are problems of their kinds", () => {
  const state = { ...none, troubles: ["disk"], missingNodes: ["n2"], warnings: ["clock"] };
  expect(problemsOf(state, [])).toEqual([
    { kind: "not-ready", message: "disk" },
    {
      kind: "node-missing",
      message: "Node n2 does not answer: what it does is not in these figures",
    },
    { kind: "warning", message: "clock" },
  ]);
});

test("an alert about a destination that is a problem itself is left out", () => {
  const alert = { kind: "alert", message: "too many" } as const;
  const down = destination({ id: "down", state: "down", since });
  const letters = destination({ id: "letters", deadLetters: 1 });
  const alerts = [
    alert,
    ...["down", "letters", "well"].map((id) => ({ ...alert, destinationId: id })),
  ];
  const found = problemsOf({ ...none, destinations: [down, letters] }, alerts);
  const left = found.filter(({ kind }) => kind === "alert");
  expect(left.map(({ destinationId }) => destinationId)).toEqual([undefined, "letters", "well"]);
});

test("a suspended transformation counts the dead letters of its destinations, which are no problems", () => {
  const suspended = { reason: "it throws" };
  const code = [
    { id: "t", name: "Code", suspended },
    { id: "u", name: "Other", suspended },
    { id: "v", name: "Well" },
    { id: "w", name: "Third", suspended },
  ] as LinkedTransformation[];
  const of = (id: string, transformationId: string, deadLetters: number, state = "suspended") =>
    destination({ id, transformationId, deadLetters, state } as Partial<DestinationState>);
  const destinations = [
    ...[
      of("1", "t", 2),
      of("2", "t", 3),
      of("3", "u", 0),
      of("4", "v", 7),
      of("5", "t", 5, "healthy"),
    ],
    ...[of("6", undefined as never, 1), of("7", "w", 1)],
  ];
  const found = problemsOf({ ...none, destinations, code }, []);
  const message = (name: string) => `${name} is suspended, every batch failed: it throws`;
  expect(found).toStrictEqual([
    { kind: "suspended", message: message("Code"), transformationId: "t", count: 5 },
    { kind: "suspended", message: message("Third"), transformationId: "w", count: 1 },
    { kind: "suspended", message: message("Other"), transformationId: "u" },
    ...[
      ["4", 7],
      ["5", 5],
      ["6", 1],
    ].map(([destinationId, count]) => {
      const text = count === 1 ? "1 dead letter" : `${count} dead letters`;
      return { kind: "dead-letters", message: `Hook has ${text}`, destinationId, count };
    }),
  ] as OverviewProblem[]);
});

test("dead letters have the reason of the latest group and the time of the first", () => {
  const problem = { kind: "dead-letters", message: "Hook has 3 dead letters", count: 3 } as const;
  const group = (reason: string, firstAt: number, lastAt: number) =>
    ({ reason, firstAt, lastAt }) as never;
  expect(withReason(problem, [])).toEqual(problem);
  const groups = [
    group("old", 1_000, 2_000),
    group("latest", 3_000, 9_000),
    group("mid", 2_000, 5_000),
  ];
  expect(withReason(problem, groups)).toEqual({
    ...problem,
    message: "Hook has 3 dead letters: latest",
    since: "1970-01-01T00:00:01.000Z",
  });
  // An earlier version did not store when the first letter of a group was added.
  const older = { reason: "older", lastAt: 10_000 } as never;
  expect(withReason(problem, [...groups, older])).toEqual({
    ...problem,
    message: "Hook has 3 dead letters: older",
  });
});

test("the problems of many suspended transformations look at each destination a fixed number of times", () => {
  let looks = 0;
  const looked = (count: number) => {
    looks = 0;
    const ids = Array.from({ length: count }, (_, n) => `${n}`);
    const destinations = ids.map((id) => ({
      ...destination({ id, transformationId: id, deadLetters: 1 }),
      get state() {
        looks += 1;
        return "suspended" as const;
      },
    }));
    const suspended = { reason: "it throws", until: since };
    const code = ids.map((id) => ({
      id,
      name: id,
      versionId: id,
      language: "javascript",
      suspended,
    }));
    expect(problemsOf({ ...none, destinations, code }, [])).toHaveLength(count);
    return looks;
  };
  expect(looked(200)).toBe(10 * looked(20));
});
