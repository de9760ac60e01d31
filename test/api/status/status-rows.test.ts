import { describe, expect, test } from "bun:test";
import { statusListRoutes } from "../../../src/api/routes/status/status-lists.ts";
import { ApiError } from "../../../src/errors.ts";
import { noRates, type Scene, scene } from "./_scene.ts";

const named = (id: string) => ({ id, name: `Name of ${id}`, enabled: true });
const failure = { since: 1_000, reason: "No route", isDown: false };
const iso = (ms: number) => new Date(ms).toISOString();

interface More extends Scene {
  /** Dead letters by destination. */
  letters?: Record<string, number>;
  /** Ids of the published transformations by destination. */
  code?: Record<string, string>;
}

/** Sends a request to a route of workspace `w`; also returns whose dead letters were looked at. */
async function send(key: string, { letters = {}, code = {}, ...parts }: More, call: object = {}) {
  const deps = scene(parts);
  const looked: string[] = [];
  const deadLetters = {
    count: (_: string, { destinationId }: { destinationId: string }) => letters[destinationId] ?? 0,
    groups(_: string, id: string) {
      looked.push(id);
      return [
        { reason: "Old", lastAt: 1_000, stage: "deliver" },
        { reason: `Last of ${id}`, lastAt: 3_000, stage: "transform" },
        { reason: "Older", lastAt: 2_000, stage: "deliver" },
      ];
    },
  };
  Object.assign(deps.pipeline, { deadLetters });
  const { sources = [], destinations = [], connections = [] } = parts;
  Object.assign(deps.catalog.destinations, {
    get: (_: string, id: string) => {
      const found = destinations.find((it) => it.id === id);
      if (found === undefined) throw new ApiError("missing", "Destination not found");
      return { workspaceId: "w", ...found };
    },
  });
  Object.assign(deps.catalog.sources, {
    withIds: (_: string, ids: string[]) => sources.filter(({ id }) => ids.includes(id!)),
  });
  Object.assign(deps.catalog.connections, {
    eachOf: (_: string, { destinationId }: { destinationId?: string }) =>
      connections.filter((it) => it.destinationId === destinationId),
  });
  Object.assign(deps.catalog.code, {
    linkedTransformation: ({ id }: { id: string }) => code[id],
    publishedRevision(_: string, __: string, id: string) {
      if (id === "") throw new ApiError("missing", "Transformation not found");
      return { revision: { versionId: `${id}-1`, name: `Code ${id}`, language: "javascript" } };
    },
  });
  const route = statusListRoutes.find((it) => it.key === key) as never as {
    handle(call: object): unknown;
  };
  const { signal } = new AbortController();
  const given = { deps, workspaceId: "w", query: {}, request: { signal }, ...call };
  return { answer: (await route.handle(given)) as any, looked };
}

describe("a row of a destination", () => {
  const LIST = "GET /v2/status/destinations";

  test("has the failure that lasts as its last error, or the latest one of its dead letters", async () => {
    const destinations = ["fine", "letters", "failing", "blocked"].map(named);
    const lanes = { fine: {}, letters: {}, failing: { failure }, blocked: {} };
    const letters = { letters: 3, failing: 2 };
    const { answer, looked } = await send(LIST, { destinations, lanes, letters });
    const errors = answer.destinations.map((it: any) => [it.id, it.lastError]);
    expect(Object.fromEntries(errors)).toEqual({
      failing: { reason: "No route", at: iso(1_000), stage: "deliver" },
      letters: { reason: "Last of letters", at: iso(3_000), stage: "transform" },
    });
    // The letters of a destination without any are not looked at.
    expect(looked.sort()).toEqual(["failing", "letters"]);
    const stopped = await send(LIST, { destinations, lanes, blocked: "The disk is full" });
    const reasons = stopped.answer.destinations.map((it: any) => [
      it.state,
      it.reason,
      it.lastError,
    ]);
    expect(reasons).toContainEqual(["blocked", "delivery: The disk is full", undefined]);
  });

  test("has the name of its code, and none without", async () => {
    const destinations = ["a", "b"].map(named);
    const lanes = { a: {}, b: {} };
    const { answer } = await send(LIST, { destinations, lanes, code: { b: "t" } });
    const names = answer.destinations.map((it: any) => [it.id, it.transformationName]);
    expect(names).toEqual([
      ["a", undefined],
      ["b", "Code t"],
    ]);
  });

  test("is found by its state, beside the number of those in each state", async () => {
    const destinations = ["a", "b", "c"].map(named);
    const lanes = { a: { failure }, b: {}, c: { failure } };
    const all = (await send(LIST, { destinations, lanes })).answer;
    expect(all.destinations.map(({ id }: any) => id)).toEqual(["a", "c", "b"]);
    expect([all.total, all.states]).toEqual([3, { failing: 2, ok: 1 }]);
    const asked = { query: { state: "failing", sort: "-name" } };
    const some = (await send(LIST, { destinations, lanes }, asked)).answer;
    expect(some.destinations.map(({ id }: any) => id)).toEqual(["c", "a"]);
    expect([some.total, some.states]).toEqual([2, { failing: 2, ok: 1 }]);
    // By name, only the rows of the page are measured.
    const page = { query: { sort: "name", count: 1, page: 2 } };
    const byName = (await send(LIST, { destinations, lanes }, page)).answer;
    expect([byName.destinations[0].id, byName.total, byName.states]).toEqual(["b", 3, undefined]);
    expect(byName).not.toHaveProperty("missingNodes");
  });

  test("alone has the names of its sources, and names the nodes that do not answer", async () => {
    const parts = {
      destinations: ["a", "b"].map(named),
      sources: ["s", "t", "u"].map(named),
      connections: ["s", "u", "gone"].map((sourceId) => {
        return { ...named(`c${sourceId}`), sourceId, destinationId: "a" };
      }),
      missing: ["n2"],
    };
    const call = { params: { id: "a" } };
    const { answer } = await send("GET /v2/status/destinations/{id}", parts, call);
    expect(answer.destination).toMatchObject({ id: "a", state: "unknown" });
    expect(answer.sources).toStrictEqual([
      { id: "s", name: "Name of s" },
      { id: "u", name: "Name of u" },
    ]);
    expect(answer.missingNodes).toEqual(["n2"]);
    const unknown = send("GET /v2/status/destinations/{id}", parts, { params: { id: "x" } });
    await expect(unknown).rejects.toThrow("Destination not found");
  });
});

describe("a row of a connection", () => {
  const LIST = "GET /v2/status/connections";
  const rates = (failed: number) => [{ sourceId: "s", ...noRates, received: 2, failed }];
  const connection = (destinationId: string, sourceId = "s") => {
    return { ...named(`${sourceId}-${destinationId}`), sourceId, destinationId };
  };

  test("has the names and the state of its ends", async () => {
    const lane = { lagEvents: 7, lagSeconds: 8, isRejecting: true };
    const { answer } = await send(LIST, {
      sources: [named("s")],
      destinations: [named("d"), named("e")],
      connections: [connection("d"), connection("e"), connection("gone", "lost")],
      lanes: { d: { ...lane, rates: rates(1) }, e: { ...lane, failure, rates: rates(0) } },
    });
    const shown = { sourceName: "Name of s", lagEvents: 7, lagSeconds: 8 };
    expect(answer.connections).toMatchObject([
      { ...shown, destinationName: "Name of e", destinationState: "failing", rejecting: false },
      { ...shown, destinationName: "Name of d", destinationState: "ok", rejecting: true },
      {
        ...{ sourceName: "lost", destinationName: "gone", destinationState: "unknown" },
        ...{ rejecting: false, lagEvents: 0, lagSeconds: 0 },
      },
    ]);
    expect(answer.total).toBe(3);
    expect(answer).not.toHaveProperty("missingNodes");
  });

  test("is found by a part of the name of either end, in any case", async () => {
    const parts = {
      sources: [named("s"), named("t")],
      destinations: [named("d")],
      connections: [connection("d"), connection("d", "t"), connection("gone", "lost")],
    };
    const found = async (text?: string) => {
      const query = text === undefined ? {} : { text };
      const { answer } = await send(LIST, parts, { query });
      return [answer.connections.map(({ id }: { id: string }) => id).sort(), answer.total];
    };
    expect(await found()).toEqual([["lost-gone", "s-d", "t-d"], 3]);
    expect(await found(" NAME OF T ")).toEqual([["t-d"], 1]);
    expect(await found("of d")).toEqual([["s-d", "t-d"], 2]);
    expect(await found("gon")).toEqual([["lost-gone"], 1]);
    expect(await found("nothing")).toEqual([[], 0]);
  });
});
