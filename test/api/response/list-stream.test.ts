import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import {
  LIST_CHUNK_CHARS,
  LIST_TURN_MS,
  streamList,
} from "../../../src/api/response/list-stream.ts";
import { LISTS_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const deps = { limiters: createLimiters(0) };
const text = "x".repeat(1_000);
const items = Array.from({ length: 2_000 }, (_, n) => ({ n, text }));

/** Counts the iterations of the event loop until `stop` is called. */
function countIterations() {
  const loop = { iteration: 0, stop: () => clearImmediate(next) };
  let next = setImmediate(count);
  function count() {
    loop.iteration++;
    next = setImmediate(count);
  }
  return loop;
}

describe("a list without pages", () => {
  test("that is short is an ordinary response", async () => {
    for (const some of [[], items.slice(0, 1), items.slice(0, 3)]) {
      const response = await streamList({ deps, workspaceId: "short" }, "things", some);
      expect(await response.json()).toEqual({ things: some });
      const rest = () => ({ paging: { total: some.length } });
      expect(
        await (await streamList({ deps, workspaceId: "short" }, "things", some, rest)).json(),
      ).toEqual({
        things: some,
        paging: { total: some.length },
      });
    }
  });

  test("that is long is complete, and read only as fast as its client takes it", async () => {
    let read = 0;
    function* counted() {
      for (const item of items) {
        read++;
        yield item;
      }
    }
    const response = await streamList({ deps, workspaceId: "long" }, "things", counted());
    const reader = response.body!.getReader();
    const chunks: Uint8Array[] = [];
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      chunks.push(chunk.value);
      // Two chunks at most are ahead: the one that was taken, and the next one.
      expect(read).toBeLessThanOrEqual(((chunks.length + 1) * LIST_CHUNK_CHARS) / text.length);
    }
    expect(JSON.parse(Buffer.concat(chunks).toString())).toEqual({ things: items });
  });

  test("lets the event loop run between any two parts", async () => {
    const loop = countIterations();
    const response = await streamList({ deps, workspaceId: "turns" }, "things", items);
    const length = (await response.text()).length;
    loop.stop();
    expect(loop.iteration).toBeGreaterThanOrEqual(Math.floor(length / LIST_CHUNK_CHARS));
  });

  test("takes turns with other lists: one part of one of them in an iteration of the event loop", async () => {
    const loop = countIterations();
    const read: { list: number; iteration: number }[] = [];
    const lists = Array.from({ length: 4 }, async (_, list) => {
      function* recorded() {
        for (const item of items) {
          read.push({ list, iteration: loop.iteration });
          yield item;
        }
      }
      const answer = await streamList({ deps, workspaceId: `turn ${list}` }, "things", recorded());
      return ((await answer.json()) as { things: unknown[] }).things.length;
    });
    expect(await Promise.all(lists)).toEqual(lists.map(() => items.length));
    loop.stop();
    // A list's first part is written at once.
    const firstParts = read.filter(({ iteration }) => iteration === read[0]!.iteration);
    const later = Map.groupBy(read.slice(firstParts.length), ({ iteration }) => iteration);
    const listsOf = [...later.values()].map((parts) => new Set(parts.map(({ list }) => list)).size);
    expect(listsOf.length).toBeGreaterThan(lists.length);
    expect(Math.max(...listsOf)).toBe(1);
  });

  test("lets the event loop run while its iterator searches and finds nothing", async () => {
    const loop = countIterations();
    const searched: number[] = [];
    function* searching() {
      for (let n = 0; n < 5; n++) {
        searched.push(loop.iteration);
        Bun.sleepSync(LIST_TURN_MS);
        yield undefined;
      }
      yield 1;
    }
    const answer = await streamList({ deps, workspaceId: "search" }, "things", searching());
    loop.stop();
    expect(await answer.json()).toEqual({ things: [1] });
    expect(new Set(searched).size).toBe(5);
  });

  test("is limited to a few at once per workspace, and its end or failure releases its permit", async () => {
    const ask = (workspaceId: string, things: Iterable<unknown> = items) =>
      streamList({ deps, workspaceId }, "things", things);
    const open = await Promise.all(
      Array.from({ length: LISTS_OF_WORKSPACE_MAX }, () => ask("busy")),
    );
    const tooMany = `Expected at most ${LISTS_OF_WORKSPACE_MAX} long lists`;
    await expect(ask("busy")).rejects.toThrow(tooMany);
    // Short ones, and those of others, are answered nevertheless.
    expect(await (await ask("busy", [1])).json()).toEqual({ things: [1] });
    await (await ask("other")).text();
    await open[0]!.text();
    await open[1]!.body!.cancel();
    for (const response of await Promise.all([ask("busy"), ask("busy")])) await response.text();
    for (const response of open.slice(2)) await response.body!.cancel();
    function* breaking() {
      yield* items;
      throw new Error("as marked");
    }
    for (let n = 0; n < 2 * LISTS_OF_WORKSPACE_MAX; n++) {
      const response = await ask("busy", breaking());
      await expect(response.text()).rejects.toThrow();
    }
  });

  test("that fits into a chunk needs no permit, however slow the machine is", async () => {
    function* slow() {
      for (const item of items.slice(0, 20)) {
        Bun.sleepSync(LIST_TURN_MS);
        yield item;
      }
    }
    const answers = await Promise.all(
      Array.from({ length: 2 * LISTS_OF_WORKSPACE_MAX }, () =>
        streamList({ deps, workspaceId: "slow" }, "things", slow()),
      ),
    );
    for (const answer of answers) {
      expect(await answer.json()).toEqual({ things: items.slice(0, 20) });
    }
  });
});

test("long lists of versions and code have the documented form", async () => {
  const code = `export const transformEvent = (event) => event; // ${"x".repeat(200_000)}`;
  const { code: store } = api.catalog;
  const first = store.draft(api.workspaceId, "transformation", {
    name: "Large",
    code,
    language: "javascript",
  });
  const change = { publish: [], links: [], usedLibraries: [] };
  await store.commit(api.workspaceId, { ...change, revisions: [first] });
  for (let n = 0; n < 9; n++) {
    const revision = store.revise(api.workspaceId, "transformation", first.id, {});
    await store.commit(api.workspaceId, { ...change, revisions: [revision] });
  }
  const { body } = await api.send("GET", `/transformations/${first.id}/versions?count=1000`);
  expect(body.TransformationVersions).toHaveLength(10);
  expect(body.TransformationVersions[0]).toMatchObject({ versionId: first.versionId, code });

  const revisions = Array.from({ length: 50 }, (_, n) =>
    store.draft(api.workspaceId, "library", { name: `Lib ${n}`, code, language: "javascript" }),
  );
  const publish = revisions.map(({ kind, id, versionId }) => {
    return { kind, id, versionId, imports: [] };
  });
  await store.commit(api.workspaceId, { ...change, revisions, publish });
  const { libraries } = (await api.send("GET", "/libraries")).body;
  expect(libraries.map((it: any) => it.id)).toEqual(revisions.map(({ id }) => id));
  expect((await api.send("GET", "/libraries", { token: null })).status).toBe(401);
});
