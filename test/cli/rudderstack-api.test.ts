import { afterEach, expect, spyOn, test } from "bun:test";
import { RudderStackApi } from "../../src/cli/import/rudderstack-api.ts";
import { parseToShow } from "../../src/json/parse-exact.ts";

let server: ReturnType<typeof Bun.serve>;
afterEach(() => server.stop(true));

/** A workspace whose public API has these answers, by path. */
function apiWith(answers: Record<string, unknown>) {
  const asked: string[] = [];
  const notes: string[] = [];
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      asked.push(`${pathname}${search} ${request.headers.get("authorization")}`);
      const answer = answers[pathname + search];
      return answer === undefined ? new Response("", { status: 404 }) : Response.json(answer);
    },
  });
  return {
    api: new RudderStackApi(`http://127.0.0.1:${server.port}//`, "secret", (it) => notes.push(it)),
    asked,
    notes,
  };
}

test("an item is off when its listing says so by either name, and on when it says nothing", async () => {
  const states = [
    [{}, true],
    [{ enabled: true }, true],
    [{ enabled: false }, false],
    [{ isEnabled: true }, true],
    [{ isEnabled: false }, false],
    [{ enabled: true, isEnabled: false }, false],
    [{ enabled: null }, true],
  ] as const;
  const sources = states.map(([state], n) => ({ id: `s${n}`, name: "S", type: "t", ...state }));
  const connections = states.map(([state], n) => ({
    ...{ id: `c${n}`, sourceId: "s", destinationId: "d", ...state },
  }));
  const { api } = apiWith({
    "/v2/sources?page=1": { sources },
    "/v2/connections?page=1": { connections },
  });
  const expected = states.map(([, isOn]) => isOn);
  expect((await api.items("sources")).map(({ enabled }) => enabled)).toEqual(expected);
  expect((await api.connections()).map(({ enabled }) => enabled)).toEqual(expected);
});

test("a list is read page by page, each item once, until a page has nothing new", async () => {
  const item = (id: string, more = {}) => ({ id, name: id, type: "t", config: { a: 1 }, ...more });
  const page = (destinations: unknown[], next?: string) => ({ destinations, paging: { next } });
  const { api, asked } = apiWith({
    "/v2/destinations?page=1": page([item("a"), item("b")], "2"),
    "/v2/destinations?page=2": page([item("b"), item("c", { config: null })], "3"),
    "/v2/destinations?page=3": page([item("b")], "4"),
  });
  const items = await api.items("destinations");
  expect(items.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(items.map(({ config }) => config)).toEqual([{ a: 1 }, { a: 1 }, {}]);
  expect(asked).toEqual([1, 2, 3].map((n) => `/v2/destinations?page=${n} Bearer secret`));
});

test("an integer beyond 2^53 in a config keeps its digits, so that the server can refuse it", async () => {
  const config = parseToShow('{"pixel":12345678901234567}');
  const sources = [{ id: "s", name: "S", type: "t", config }];
  const { api } = apiWith({ "/v2/sources?page=1": { sources } });
  const [found] = await api.items("sources");
  expect(JSON.stringify(found!.config)).toBe('{"pixel":12345678901234567}');
});

test("the versions of code are the newest ones and the published one, the oldest first", async () => {
  const version = (versionId: string, more = {}) => ({
    ...{ versionId, name: "T", code: "c", language: "javascript", ...more },
  });
  const listed = {
    id: "t/1",
    ...version("v2", { description: "D" }),
    destinations: ["d", { id: "e" }, 7, { id: 7 }, null],
  };
  const path = "/transformations/t%2F1/versions?count=100&orderBy=desc";
  const read = async (versions: unknown[]) => {
    const { api } = apiWith({
      "/transformations": { transformations: [listed] },
      [path]: { TransformationVersions: versions },
    });
    const [found] = await api.code("transformation");
    server.stop(true);
    return { ...found, versions: found!.versions.map((it) => `${it.versionId} ${it.description}`) };
  };
  const whole = { id: "t/1", versionId: "v2", destinations: ["d", "e"] };
  expect(await read([version("v3")])).toEqual({ ...whole, versions: ["v2 D", "v3 "] });
  expect(await read([version("v3"), version("v2"), version("v1")])).toEqual({
    ...whole,
    versions: ["v1 ", "v2 ", "v3 "],
  });
});

test("code with more versions than are copied is named in a note", async () => {
  const version = (n: number) => ({
    ...{ versionId: `v${n}`, name: "L", code: "c", language: "javascript" },
  });
  const noted = async (count: number) => {
    const libraryVersions = Array.from({ length: count }, (_, at) => version(200 - at));
    const { api, notes } = apiWith({
      "/libraries": { libraries: [{ id: "l", ...version(1) }] },
      "/libraries/l/versions?count=100&orderBy=desc": { libraryVersions },
    });
    const [found] = await api.code("library");
    server.stop(true);
    const { length, 0: first, 1: second } = found!.versions.map(({ versionId }) => versionId);
    return [notes, length, first, second];
  };
  const note = "Only the newest 100 versions of /libraries/l are copied";
  expect(await noted(100)).toEqual([[note], 101, "v1", "v101"]);
  expect(await noted(99)).toEqual([[], 100, "v1", "v102"]);
});

test.each([
  [{ sources: {} }, "Expected a list of sources from RudderStack"],
  [{ sources: [1] }, "Expected a list of sources from RudderStack"],
  [{ sources: [{ id: "s", name: 7 }] }, "Expected a text as name of an item of RudderStack"],
  [[], "Expected a JSON object at /v2/sources?page=1"],
  [undefined, "RudderStack answered 404 to /v2/sources?page=1"],
])("the answer %j is refused", async (answer, message) => {
  const { api } = apiWith({ "/v2/sources?page=1": answer });
  await expect(api.items("sources")).rejects.toThrow(message);
});

test("a request is sent again after the time that its answer asks for, or one that doubles", async () => {
  const waits: number[] = [];
  const sleep = spyOn(Bun, "sleep").mockImplementation(async (ms) => void waits.push(Number(ms)));
  const notes: string[] = [];
  const answers = [
    [429, "7"],
    [503, ""],
    [500, "-1"],
    [429, "100"],
    [503, "soon"],
    [503, "0"],
  ] as const;
  let asked = 0;
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch() {
      const [status, after] = answers[asked++ % answers.length]!;
      const headers = after === "" ? undefined : { "retry-after": after };
      return new Response("", { status, ...(headers && { headers }) });
    },
  });
  const api = new RudderStackApi(`http://127.0.0.1:${server.port}`, "t", (text) =>
    notes.push(text),
  );
  try {
    await expect(api.items("sources")).rejects.toThrow("RudderStack answered 503 to /v2/sources");
    expect(asked).toBe(6);
    expect(waits).toEqual([7_000, 2_000, 4_000, 60_000, 16_000]);
    expect(notes[0]).toBe("RudderStack answered 429 to /v2/sources?page=1; again in 7 s");
    asked = 5;
    await expect(api.items("sources")).rejects.toThrow("RudderStack answered 503");
    expect(waits[5]).toBe(0);
  } finally {
    sleep.mockRestore();
  }
});
