import { afterAll, beforeAll, expect, test } from "bun:test";
import { removeDirectory, type Server, startServer } from "../e2e/server.ts";
import type { Client } from "./command.ts";
import { inProcess } from "./in-process.ts";

/** RudderStack's public API, as its documents show the answers. */
const times = { createdAt: "2023-02-16T01:11:11.586Z", updatedAt: "2023-02-16T01:11:11.586Z" };
const code = (name: string, versionId: string, text: string, id: string) => ({
  ...{ id, versionId, name, description: "", code: text, codeVersion: "1" },
  ...{ language: "javascript", ...times },
});
const library = code("Get Cube", "lv1", "export function cube(x) { return x ** 3; }", "lib1");
const first = code("T", "tv1", "export function transformEvent(event) { return event; }", "tr1");
const second = {
  ...code(
    "T",
    "tv2",
    'import { cube } from "getCube";\nexport const transformEvent = () => ({ a: cube(2) });',
    "tr1",
  ),
  destinations: [{ id: "dst1", name: "Hook", enabled: true }],
};
const answers: Record<string, unknown> = {
  "/v2/sources?page=1": {
    sources: [
      { id: "src1", name: "Site", type: "Javascript", enabled: true, config: {}, ...times },
    ],
    paging: { total: 2, next: "/v2/sources?page=2" },
  },
  "/v2/sources?page=2": {
    sources: [{ id: "src2", name: "App", type: "iOS", isEnabled: false, ...times }],
    paging: { total: 2 },
  },
  "/v2/destinations?page=1": {
    destinations: [
      {
        id: "dst1",
        name: "Hook",
        type: "WEBHOOK",
        enabled: true,
        config: { webhookUrl: "https://a.test" },
      },
      {
        id: "dst2",
        name: "Log",
        type: "KAFKA",
        enabled: true,
        config: { topic: "t", password: "****" },
      },
      { id: "dst3", name: "\x1b[2JUnheard", type: "UNHEARD_OF", enabled: true, config: {} },
    ],
    paging: { total: 3 },
  },
  "/v2/connections?page=1": {
    connections: [
      { id: "con1", sourceId: "src1", destinationId: "dst1", enabled: true },
      { id: "con2", sourceId: "src2", destinationId: "dst3", enabled: true },
    ],
    paging: { total: 2 },
  },
  "/transformations": { transformations: [second] },
  "/libraries": { libraries: [{ ...library, importName: "getCube" }] },
  "/libraries/lib1/versions?count=100&orderBy=desc": { libraryVersions: [library] },
  "/transformations/tr1/versions?count=100&orderBy=desc": {
    TransformationVersions: [second, first],
  },
};

/** Answers by which the next requests of a path are answered first. */
const troubles = new Map<string, (() => Response)[]>();

const remote = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    if (request.headers.get("authorization") !== "Bearer theirs")
      return new Response("", { status: 401 });
    const { pathname, search } = new URL(request.url);
    const trouble = troubles.get(pathname + search)?.shift();
    if (trouble !== undefined) return trouble();
    const answer = answers[pathname + search];
    return answer === undefined ? new Response("", { status: 404 }) : Response.json(answer);
  },
});

let server: Server;
let client: Client;
beforeAll(async () => {
  server = await startServer();
  client = inProcess(server);
});
afterAll(async () => {
  await server.stop();
  await remote.stop(true);
  removeDirectory(server.directory);
});

const importing = (...more: string[]) =>
  client(["import", "rudderstack", "--url", remote.url.href, ...more], {
    environment: { RUDDERSTACK_ACCESS_TOKEN: "theirs" },
  });
const totals = async () => {
  const lists = ["sources", "destinations", "connections"].map(async (kind) => {
    return (await server.api("GET", `/v2/${kind}`)).body[kind].length;
  });
  return await Promise.all(lists);
};

test("a workspace of RudderStack's cloud is copied once, and a dry run says what would be", async () => {
  const dry = await importing("--dry-run");
  expect([dry.code, dry.errors]).toEqual([0, ""]);
  expect(dry.output).toContain("source Site: new\nsource App: new\n");
  expect(dry.output).toEndWith("9 items to copy\n");
  expect(await totals()).toEqual([0, 0, 0]);

  const run = await importing();
  expect(run.code).toBe(1);
  expect(run.output).toEndWith("7 items copied\n");
  // The type that this server does not know, and the connection to it.
  expect(run.errors).toContain("destination \\u001b[2JUnheard");
  expect(run.errors).toContain("connection src2 → dst3: Its source or destination was not copied");
  expect(await totals()).toEqual([2, 2, 1]);
  const { destinations } = (await server.api("GET", "/v2/destinations")).body;
  const [hook, log] = destinations;
  expect([hook.deliveredBy, log.deliveredBy]).toEqual(["rudder-server", "rudder-server"]);
  expect([log.config, log.secretsSet]).toEqual([{ topic: "t" }, []]);
  const { transformations } = (await server.api("GET", "/transformations")).body;
  expect(transformations[0].externalId).toBe("tr1");
  expect(hook.transformation).toEqual({ id: transformations[0].id });
  const path = `/transformations/${transformations[0].id}/versions`;
  const { TransformationVersions: versions } = (await server.api("GET", path)).body;
  expect(versions.map((it: { code: string }) => it.code)).toEqual([first.code, second.code]);

  const again = await importing();
  expect(again.output).toContain("transformation T: here already");
  expect(again.output).toEndWith("0 items copied\n");
  expect(await totals()).toEqual([2, 2, 1]);
});

test("code whose import was interrupted is copied to its end, and code that was changed here is left", async () => {
  const cut = code("Cut", "cv1", first.code, "cut");
  const cutPublished = { ...code("Cut", "cv2", `${first.code} // 2`, "cut"), destinations: [] };
  const own = { ...code("Own", "ov1", first.code, "own"), destinations: [] };
  answers["/transformations"] = { transformations: [second, cutPublished, own] };
  answers["/transformations/cut/versions?count=100&orderBy=desc"] = {
    TransformationVersions: [cutPublished, cut],
  };
  answers["/transformations/own/versions?count=100&orderBy=desc"] = {
    TransformationVersions: [own],
  };
  const drafts = [
    { name: "Cut", code: cut.code, externalId: "cut" },
    { name: "Own", code: `${own.code} // changed here`, externalId: "own" },
  ];
  for (const draft of drafts) {
    const body = { ...draft, language: "javascript" };
    expect((await server.api("POST", "/transformations", body)).status).toBe(200);
  }
  const run = await importing();
  expect(run.output).toContain("transformation Cut: copied");
  expect(run.output).toContain("transformation Own: here already");
  const { transformations } = (await server.api("GET", "/transformations")).body;
  const { id, code: live } = transformations.find((it: { name: string }) => it.name === "Cut");
  expect(live).toBe(cutPublished.code);
  const { TransformationVersions: versions } = (
    await server.api("GET", `/transformations/${id}/versions`)
  ).body;
  expect(versions.map((it: { code: string }) => it.code)).toEqual([cut.code, cutPublished.code]);
  expect(transformations.map((it: { name: string }) => it.name)).not.toContain("Own");
  answers["/transformations"] = { transformations: [second] };
});

test("what RudderStack refuses is one sentence, and nothing is copied", async () => {
  const before = await totals();
  const refused = await importing("--rudderstack-token", "another");
  expect(refused.errors).toContain("RudderStack answered 401 to /v2/sources?page=1");
  expect(refused.code).toBe(1);
  const away = await client(["import", "rudderstack", "--url", "http://127.0.0.1:1"], {
    environment: { RUDDERSTACK_ACCESS_TOKEN: "theirs" },
  });
  expect(away.errors).toContain("Cannot read http://127.0.0.1:1/v2/sources?page=1");
  const without = await client(["import", "rudderstack"]);
  expect(without.errors).toContain("Expected a token of RudderStack: set RUDDERSTACK_ACCESS_TOKEN");
  expect(await totals()).toEqual(before);
});

test("a request that RudderStack does not answer for now is sent again, and a repeated page ends a list", async () => {
  const wait = { headers: { "retry-after": "0" } };
  const later = [429, 500, 503].map((status) => () => new Response("", { status, ...wait }));
  troubles.set("/v2/sources?page=1", [...later]);
  troubles.set("/libraries/lib1/versions?count=100&orderBy=desc", [later[0]!]);
  const repeated = { connections: [], paging: { total: 9, next: "/v2/connections?page=2" } };
  const [, first] = Object.entries(answers).find(([path]) => path === "/v2/connections?page=1")!;
  const page = () => Response.json({ ...(first as object), paging: repeated.paging });
  troubles.set("/v2/connections?page=1", [page]);
  troubles.set("/v2/connections?page=2", [page]);
  const run = await importing("--dry-run");
  expect(run.code).toBe(0);
  expect(run.errors).toContain("RudderStack answered 429 to /v2/sources?page=1; again in 0 s");
  expect(run.output.match(/^connection /gm)).toHaveLength(2);
});

test("an answer in part, of another form or without a field is one sentence, and nothing is copied", async () => {
  const before = await totals();
  const item = { id: "s9", type: "iOS", enabled: true };
  const cases: [() => Response, string][] = [
    [() => new Response('{"sources": [{"id": "s'), "Expected a JSON object at /v2/sources?page=1"],
    [() => Response.json([]), "Expected a JSON object at /v2/sources?page=1"],
    [() => Response.json({ source: [] }), "Expected a list of sources from RudderStack"],
    [() => Response.json({ sources: [7] }), "Expected a list of sources from RudderStack"],
    [() => Response.json({ sources: [item] }), "Expected a text as name of an item"],
    [() => Response.redirect("http://127.0.0.1:1/"), "Cannot read"],
  ];
  for (const [answer, sentence] of cases) {
    troubles.set("/v2/sources?page=1", [answer]);
    const run = await importing();
    expect([run.code, run.errors]).toEqual([1, expect.stringContaining(sentence)]);
    expect(run.errors.trim().split("\n")).toHaveLength(1);
  }
  troubles.clear();
  expect(await totals()).toEqual(before);
});
