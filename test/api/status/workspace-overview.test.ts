import { describe, expect, test } from "bun:test";
import { localStatus } from "../../../src/api/routes/status/local-status.ts";
import { workspaceOverview } from "../../../src/api/routes/status/overview.ts";
import { alertProblems } from "../../../src/api/routes/status/problems.ts";
import { alertKinds, alertSubjects } from "../../../src/catalog/alerts/model.ts";
import {
  OVERVIEW_CONNECTIONS_MAX,
  OVERVIEW_ITEMS_MAX,
  SUSPENSIONS_SHOWN_MAX,
} from "../../../src/settings/limits.ts";
import { type Scene, scene } from "./_scene.ts";

const rates = (received: number, delivered: number, dropped: number, failed: number) => ({
  ...{ received, delivered, dropped, failed },
});
const numbered = (count: number) => Array.from({ length: count }, (_, n) => String(100 + n));
const named = (id: string) => ({ id, name: id, enabled: true });

/** A workspace without alerts. Each destination has `letters` dead letters, and code of its own. */
function quietScene(parts: Scene, letters = 0) {
  const deps = scene(parts);
  const receivers = { list: () => ({ items: [] }) };
  const code = {
    linkedTransformation: ({ id }: { id: string }) => `t${id}`,
    publishedRevision: (_: string, __: string, id: string) => ({
      revision: { versionId: `${id}-1`, name: id, language: "javascript" },
    }),
  };
  Object.assign(deps.catalog, { alerts: { open: () => [], receivers }, code });
  const grouped: unknown[] = [];
  const deadLetters = {
    count: (_: string, of?: object) => (of === undefined ? 77 : letters),
    groups(_: string, id: string) {
      grouped.push(id);
      return [{ reason: `Reason ${id}`, firstAt: 1_000, lastAt: 2_000 }];
    },
  };
  Object.assign(deps.pipeline, { deadLetters });
  return { deps, grouped };
}

describe("the overview of a workspace", () => {
  test("has the sums of all its destinations, and the longest lag", async () => {
    const { deps } = quietScene({
      sources: ["s", "t"].map(named),
      destinations: ["a", "b"].map(named),
      connections: [
        { ...named("1"), sourceId: "s", destinationId: "a" },
        { ...named("2"), sourceId: "t", destinationId: "b" },
      ],
      lanes: {
        a: { lagEvents: 2, lagSeconds: 9, rates: [{ sourceId: "s", ...rates(1, 2, 3, 4) }] },
        b: { lagEvents: 3, lagSeconds: 5, rates: [{ sourceId: "t", ...rates(10, 20, 30, 40) }] },
      },
    });
    const { totals, sources, missingNodes } = await workspaceOverview(deps, "w");
    expect(totals).toEqual({
      ...{ sources: 2, destinations: 2, connections: 2, deadLetters: 77, problems: 0 },
      ...{ rates: rates(11, 22, 33, 44), lagEvents: 5, lagSeconds: 9 },
    });
    // The busiest first.
    expect(sources.map(({ id, receivedPerSecond }) => [id, receivedPerSecond])).toEqual([
      ["t", 10],
      ["s", 1],
    ]);
    expect(missingNodes).toBeUndefined();
  });

  test("has a bounded number of items, their connections among each other, and their code", async () => {
    const ids = numbered(OVERVIEW_ITEMS_MAX + 1);
    const [first, second, third] = ids;
    const last = ids.at(-1)!;
    const sources = ids.slice(0, -1);
    const ends = [
      ...[last, third!].map((destinationId) => ({ sourceId: first!, destinationId })),
      ...sources.flatMap((sourceId) => {
        return [first!, second!].map((destinationId) => ({ sourceId, destinationId }));
      }),
    ];
    const { deps } = quietScene({
      sources: sources.map(named),
      destinations: ids.map(named),
      connections: ends.map((it, n) => ({ ...named(`c${n}`), ...it })),
    });
    const shown = await workspaceOverview(deps, "w");
    expect(ends.length).toBe(OVERVIEW_CONNECTIONS_MAX + 2);
    expect(shown.destinations.map(({ id }) => id)).toEqual(ids.slice(0, -1));
    expect(shown.sources).toHaveLength(OVERVIEW_ITEMS_MAX);
    expect(shown.connections.map(({ id }) => id)).toEqual(
      ends.map((_, n) => `c${n}`).slice(1, 1 + OVERVIEW_CONNECTIONS_MAX),
    );
    expect(shown.transformations.map(({ id }) => id)).toEqual(
      ids.slice(0, -1).map((id) => `t${id}`),
    );
  });

  test("counts all problems, and reads the reasons of those dead letters that it shows", async () => {
    const ids = numbered(OVERVIEW_ITEMS_MAX + 1);
    const failure = { since: 1_000, reason: "No route", isDown: true };
    const { deps, grouped } = quietScene(
      { destinations: ids.map(named), lanes: { [ids[5]!]: { failure } } },
      2,
    );
    const { problems, totals } = await workspaceOverview(deps, "w");
    expect([problems.length, totals.problems]).toEqual([OVERVIEW_ITEMS_MAX, ids.length]);
    expect(problems[0]).toMatchObject({ kind: "destination-down", destinationId: ids[5]! });
    expect(problems[1] as object).toEqual({
      ...{ kind: "dead-letters", destinationId: ids[0]!, count: 2 },
      message: `${ids[0]} has 2 dead letters: Reason ${ids[0]}`,
      since: "1970-01-01T00:00:01.000Z",
    });
    expect(grouped).toEqual(problems.slice(1).map(({ destinationId }) => destinationId));
  });
});

test("alerts are problems where no other row names their cause, and so are receivers that fail", () => {
  const open = alertKinds.map((kind) => ({
    ...{ kind, message: `About ${kind}`, createdAt: 1_000 },
    subject: { type: alertSubjects[kind], id: `of ${kind}`, name: "N" },
  }));
  const failing = { failingSince: 2_000, reason: "HTTP 500" };
  const states: Record<string, object> = { failing, off: failing, fine: {} };
  const receivers = {
    list: () => ({
      items: Object.keys(states).map((id) => ({ id, name: `R ${id}`, enabled: id !== "off" })),
    }),
    state: (id: string) => states[id],
  };
  const catalog = { alerts: { open: () => open, receivers } } as never;
  const row = (kind: string, more: object = {}) => ({
    ...{ kind: "alert", message: `About ${kind}`, since: "1970-01-01T00:00:01.000Z", ...more },
  });
  expect(alertProblems({ catalog }, "w") as object[]).toStrictEqual([
    row("lag", { destinationId: "of lag" }),
    row("source-silent", { sourceId: "of source-silent" }),
    row("nodes-missing"),
    row("disk"),
    {
      ...{ kind: "alert-receiver", message: "Alerts do not reach R failing: HTTP 500" },
      ...{ receiverId: "failing", since: "1970-01-01T00:00:02.000Z" },
    },
  ]);
});

describe("the state of a workspace at one node", () => {
  const failure = { since: 1_000, reason: "x".repeat(501), isDown: false };
  const shown = "x".repeat(500);

  test("has at most 500 characters of each reason, and a number of suspensions", () => {
    const lastFailure = { at: 1, reason: "y" };
    const deps = scene({ destinations: [named("d")], lanes: { d: { failure, lastFailure } } });
    const suspension = {
      transformationVersionId: "v",
      name: "T",
      until: 1,
      reason: failure.reason,
    };
    const suspensions = Array(SUSPENSIONS_SHOWN_MAX + 1).fill(suspension);
    Object.assign(deps, { suspensions: () => suspensions });
    const status = localStatus(deps, "w", ["d", "unknown"]);
    expect(Object.keys(status.lanes)).toEqual(["d"]);
    expect(status.lanes.d!.failure).toEqual({ ...failure, reason: shown });
    expect(status.lanes.d).not.toHaveProperty("lastFailure");
    expect(status.suspensions).toEqual(
      Array(SUSPENSIONS_SHOWN_MAX).fill({ ...suspension, reason: shown }),
    );
  });

  test("has the rates of each connection, and for a destination those of former ones too", () => {
    const deps = scene({
      connections: [{ ...named("c"), sourceId: "s", destinationId: "d" }],
      lanes: {
        d: {
          rates: [
            { sourceId: "s", ...rates(1, 2, 3, 4) },
            { sourceId: "s", ...rates(10, 20, 30, 40) },
            { sourceId: "gone", ...rates(100, 200, 300, 400) },
          ],
        },
      },
    });
    const { lanes, connections } = localStatus(deps, "w", ["d"]);
    expect(lanes.d!.rates).toEqual(rates(111, 222, 333, 444));
    expect(connections).toEqual({ c: rates(11, 22, 33, 44) });
    expect(lanes.d).not.toHaveProperty("failure");
  });

  test("is found without a look at the code while all code runs", () => {
    const deps = scene({ destinations: [named("d")], lanes: { d: {} } });
    let looks = 0;
    const withIds = () => {
      looks += 1;
      return [];
    };
    Object.assign(deps.catalog.destinations, { withIds });
    localStatus(deps, "w", ["d"]);
    expect(looks).toBe(0);
    Object.assign(deps, { slowCode: () => new Map([["v", 1]]) });
    localStatus(deps, "w", ["d"]);
    expect(looks).toBe(1);
  });
});
