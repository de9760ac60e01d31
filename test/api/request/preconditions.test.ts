import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { isAnsweredWithTag } from "../../../src/api/document/precondition-headers.ts";
import { parseTags } from "../../../src/api/request/preconditions.ts";
import type { Route } from "../../../src/api/route.ts";
import { routes } from "../../../src/api/route-table.ts";
import { MemoryLog } from "../../store/memory-log.ts";
import { exampleOf, inOrder, makeThings, sendExample, type Things } from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

/**
 * Routes that change one item, or read what can be changed, and that have no preconditions. A new
 * route is covered by the tests below unless it is named here with its reason.
 */
const withoutPreconditions: Record<string, string> = {
  "POST /v2/destinations/{id}/test": "changes nothing",
  "POST /v2/alerts/receivers/{id}/test": "changes nothing",
  "POST /v2/replays/{id}/cancel": "ends it, whatever its progress is",
};
const paths = routes.map(({ path }) => path);
/** Whether a path ends with a collection, such as the test cases of a transformation. */
const isCollection = (path: string) => paths.some((it) => it.startsWith(`${path}/{`));
const changed = new Set(routes.filter(({ method }) => method !== "GET").map(({ path }) => path));
const ofOneItem = routes.filter(
  ({ key, path }) =>
    path.includes("{id}") &&
    changed.has(path) &&
    !isCollection(path) &&
    !(key in withoutPreconditions),
);

const fitting = (tags: Iterable<string>) => ({
  "If-Match": [STALE, ...tags].join(", "),
  "If-None-Match": STALE,
});
const STALE = '"stale"';
const tagOf = ({ headers }: { headers: Headers }) => headers.get("etag") ?? "";

describe("every route of one resource", () => {
  let api: TestApi;
  let things: Required<Things>;
  beforeAll(async () => {
    api = await startApi();
    things = await makeThings(api);
  });
  afterAll(() => api.stop());

  beforeEach(async () => {
    const { destination, transformation: transformationId } = things;
    // Some routes remove the link.
    await api.send("PUT", `/v2/destinations/${destination}/transformation`, {
      body: { transformationId },
    });
  });

  const send = (route: Route, headers: Record<string, string>) =>
    sendExample(api, exampleOf(route, things), { headers });

  test("declares how its current state is read", () => {
    expect(ofOneItem.filter(({ current }) => current === undefined)).toEqual([]);
    expect(ofOneItem.length).toBeGreaterThan(30);
    const keys = routes.map(({ key }) => key);
    expect(Object.keys(withoutPreconditions).filter((key) => !keys.includes(key as never))).toEqual(
      [],
    );
  });

  const unlink = "DELETE /v2/destinations/{id}/transformation";
  const inTurn = inOrder
    .filter(({ current }) => current !== undefined)
    // The transformation of the link is deleted by a later route.
    .toSorted((a, b) => Number(b.key === unlink) - Number(a.key === unlink));
  test.each(inTurn.map((route) => [route.key, route]))(
    "%s takes effect only in a state that If-Match names",
    async (_, route) => {
      for (const malformed of ["", "a", '"a', '*, "a"', 'w/"a"', "'a'", '"a" "b"']) {
        const answer = await send(route, { "If-Match": malformed });
        expect([malformed, answer.status]).toEqual([malformed, 400]);
        expect(answer.body.message).toStartWith("Expected If-Match to be * or a list");
      }
      const stale = await send(route, { "If-Match": STALE });
      const tag = tagOf(stale);
      expect([stale.status, tag]).toEqual([412, expect.stringMatching(/^"[\w.-]+"$/)]);
      expect(stale.body.message).toStartWith("Expected the state of If-Match, but ");
      expect(stale.body.current).toBeObject();
      for (const headers of [
        { "If-Match": `W/${tag}` },
        { "If-Match": `${STALE}, W/${tag},` },
        ...(route.method === "GET" ? [] : [{ "If-None-Match": "*" }, { "If-None-Match": tag }]),
      ]) {
        const refused = await send(route, headers);
        // Nothing has changed since.
        expect([headers, refused.status, tagOf(refused)]).toEqual([headers, 412, tag]);
        const isWeak = "If-Match" in headers;
        expect(refused.body.message).toStartWith(
          isWeak ? "Expected a strong entity tag in If-Match, got a weak" : "Expected none",
        );
      }
      if (route.method === "GET") {
        for (const names of [tag, `W/${tag}`, `"other" , ${tag}`, "*"]) {
          const known = await send(route, { "If-None-Match": names });
          expect([names, known.status, tagOf(known), known.text]).toEqual([names, 304, tag, ""]);
        }
        const read = await send(route, { "If-None-Match": STALE });
        expect([read.status, tagOf(read)]).toEqual([200, tag]);
        expect(stale.body.current).toEqual(read.body);
        return;
      }
      // A publish request names several resources: all have to be in a state that is named.
      const tags = new Set<string>();
      let done = stale;
      for (
        ;
        done.status === 412 && !tags.has(tagOf(done));
        done = await send(route, fitting(tags))
      ) {
        tags.add(tagOf(done));
      }
      expect(done.status).toBe(route.status);
      const next = await send(route, { "If-Match": STALE });
      // A resource that was deleted is missing, or has no state.
      if (route.method === "DELETE") expect([404, 412]).toContain(next.status);
      else if (isAnsweredWithTag(route)) expect(tagOf(next)).toBe(tagOf(done));
    },
  );
});

describe("of several changes of one state", () => {
  const log = new MemoryLog({ delayMs: () => Math.random() * 5 });
  let alone: TestApi;
  let nodes: [TestApi, TestApi];
  beforeAll(async () => {
    alone = await startApi();
    nodes = await Promise.all([startApi({}, { order: log }), startApi({}, { order: log })]);
  });
  afterAll(() => Promise.all([alone, ...nodes].map((node) => node.stop())));

  /** Sends requests at once, in turn to the servers, with one tag. */
  async function race(
    servers: TestApi[],
    key: { method: string; path: string },
    tag: string,
    bodies: unknown[],
  ) {
    const { token } = servers[0]!;
    return Promise.all(
      bodies.map((body, index) => {
        const sent = { token, body, headers: { "If-Match": tag } };
        return servers[index % servers.length]!.send(key.method, key.path, sent);
      }),
    );
  }

  const expectOne = (answers: { status: number }[]) =>
    expect(answers.map(({ status }) => status).sort()).toEqual([
      200,
      ...answers.slice(1).map(() => 412),
    ]);

  test.each([
    ["of one server", () => [alone]],
    ["of two nodes", () => nodes],
  ])("only one takes effect, %s", async (_, serversOf) => {
    const servers = serversOf();
    const [first] = servers as [TestApi];
    const made = await first.send("POST", "/v2/sources", { body: { name: "Shop" } });
    const path = `/v2/sources/${made.body.source.id}`;
    const bodies = Array.from({ length: 8 }, (_, n) => ({ name: `Shop ${n}` }));
    const answers = await race(servers, { method: "PUT", path }, tagOf(made), bodies);
    expectOne(answers);
    const [winner] = answers.filter(({ status }) => status === 200);
    const now = await servers.at(-1)!.send("GET", path, { token: first.token });
    expect(now.body).toEqual(winner!.body);
    expect(tagOf(now)).toBe(tagOf(winner!));
  });

  test("one revision is published, and the others get both versions and the author", async () => {
    const code = "export const transformEvent = (event) => event;";
    const body = { name: "T", language: "javascript", code };
    const made = await nodes[0].send("POST", "/transformations?publish=true", { body });
    const path = `/transformations/${made.body.id}?publish=true`;
    const bodies = [1, 2].map((n) => ({ code: `${code} // ${n}` }));
    const answers = await race(nodes, { method: "POST", path }, tagOf(made), bodies);
    expectOne(answers);
    const won = answers.find(({ status }) => status === 200)!;
    const lost = answers.find(({ status }) => status === 412)!;
    expect(lost.body.current).toMatchObject({
      versionId: won.body.versionId,
      code: won.body.code,
      isPublished: true,
    });
    expect(lost.body.base).toMatchObject({ versionId: made.body.versionId, code });
    expect(lost.body.message).toBe(
      `Expected the state of If-Match, but test saved another revision at ${won.body.updatedAt}`,
    );
    expect(tagOf(lost)).toBe(tagOf(won));
  });
});

describe("the entity tag of code", () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api.stop());

  test("changes with a draft, a publication, and a link, and is one for all answers", async () => {
    const code = "export const transformEvent = (event) => event;";
    const body = { name: "T", language: "javascript", code };
    const made = await api.send("POST", "/transformations?publish=true", { body });
    const path = `/transformations/${made.body.id}`;
    const tags = [tagOf(made)];
    const expectNext = async (answer: Parameters<typeof tagOf>[0]) => {
      const tag = tagOf(answer);
      expect(tags).not.toContain(tag);
      for (const query of ["", "?draft=true"]) {
        expect(tagOf(await api.send("GET", path + query))).toBe(tag);
      }
      tags.push(tag);
    };
    const draft = await api.send("POST", path, { body: { code: `${code} ` } });
    await expectNext(draft);
    const publish = { transformations: [draft.body.versionId] };
    const stale = await api.send("POST", "/libraries/publish", {
      body: publish,
      headers: { "If-Match": tags[0]! },
    });
    expect(stale.status).toBe(412);
    const done = await api.send("POST", "/libraries/publish", {
      body: publish,
      headers: { "If-Match": tags.join(", ") },
    });
    expect(done.body).toEqual({ published: true });
    await expectNext(await api.send("GET", path));
    const config = { webhookUrl: "http://127.0.0.1:9/" };
    const hook = { name: "D", type: "webhook", config };
    const destinationId = (await api.send("POST", "/v2/destinations", { body: hook })).body
      .destination.id;
    const link = { body: { destinationId } };
    await expectNext(await api.send("POST", `${path}/connectToDestination`, link));
  });

  test("of a token does not change with its use", async () => {
    const body = { name: "T", permissions: ["workspace:admin"] };
    const made = await api.send("POST", "/v2/tokens", { body });
    const { id, secret } = made.body.token;
    await api.send("GET", "/v2/sources", { token: secret });
    const headers = { "If-Match": tagOf(made) };
    expect((await api.send("DELETE", `/v2/tokens/${id}`, { headers })).status).toBe(204);
  });
});

test.each([
  ['"a"', [[false, "a"]]],
  [
    'W/"a", "b,c"',
    [
      [true, "a"],
      [false, "b,c"],
    ],
  ],
  [
    ',, "a" ,\t"" ,',
    [
      [false, "a"],
      [false, ""],
    ],
  ],
  ['"a" "b"', undefined],
  ['"a b"', undefined],
  ['w/"a"', undefined],
])("If-Match %s is read as a list of tags", (text, expected) => {
  const found = parseTags(text)?.map(({ isWeak, tag }) => [isWeak, tag]);
  expect(found).toEqual(expected as typeof found);
});
