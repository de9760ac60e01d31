import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ids } from "../../src/api/examples.ts";
import type { Route } from "../../src/api/route.ts";
import { routes } from "../../src/api/routes.ts";
import { misfits } from "./_contract.ts";
import { type Received, startApi, type TestApi } from "./_setup.ts";

let api: TestApi;
let document: any;
beforeAll(async () => {
  api = await startApi();
  document = (await api.send("GET", "/docs/json")).body;
});
afterAll(() => api.stop());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]: [string, any]) =>
    Object.entries(methods).map(([method, operation]: [string, any]) => ({
      key: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );

describe("the OpenAPI document", () => {
  test("has every route that the server answers, and no other", () => {
    const served = api.routes.map(
      ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`,
    );
    expect(served.length).toBeGreaterThan(60);
    expect(
      operations()
        .map(({ key }) => key)
        .sort(),
    ).toEqual(served.sort());
  });

  test("refers to what it has, and names each operation once", () => {
    const references = JSON.stringify(document).matchAll(
      /"\$ref":"#\/components\/schemas\/(\w+)"/g,
    );
    const named = Object.keys(document.components.schemas);
    for (const [, name] of references) expect(named).toContain(name!);
    const operationIds = operations().map(({ operation }) => operation.operationId);
    expect(new Set(operationIds).size).toBe(operationIds.length);
    expect(JSON.stringify(document)).not.toContain("$id");
  });

  test("shows an example of every parameter in a path, every body and every answer", () => {
    for (const { key, operation } of operations()) {
      const lacking = [
        ...operation.parameters.filter((it: any) => it.in === "path" && !it.example),
        ...contents(operation.requestBody),
        ...Object.values(operation.responses).flatMap(contents),
      ].filter((it: any) => it.example === undefined);
      expect([key, lacking]).toEqual([key, []]);
      expect([key, Boolean(operation.summary)]).toEqual([key, true]);
    }
  });

  test.each(routes.map((route) => [route.key, route] as const))(
    "the examples of %s fit its schemas",
    (_, { example, answer, body, status, media }) => {
      if (status !== 204) expect(misfits(answer, example.answer)).toEqual([]);
      if (body) expect(misfits(body, example.body)).toEqual([]);
      expect(media === undefined || typeof example.answer === "string").toBe(true);
    },
  );
});

const methods = ["GET", "PUT", "POST", "DELETE"];
/** Deleted last: what they take along, or what hangs on them, has a route of its own. */
const last = ["DELETE /libraries/{id}", "DELETE /v2/sources/{id}", "DELETE /v2/destinations/{id}"];
const inOrder = routes.toSorted(
  (a, b) =>
    methods.indexOf(a.method) - methods.indexOf(b.method) ||
    last.indexOf(a.key) - last.indexOf(b.key),
);

test("every route does what its example shows, and answers what its schema allows", async () => {
  const real = await things();
  for (const route of inOrder) {
    for (const path of [route.path, ...route.aliases]) {
      const { status, text } = await asExample(route, path, real);
      expect([route.method, path, status, text.slice(0, 200)]).toEqual([
        route.method,
        path,
        route.status,
        text.slice(0, 200),
      ]);
    }
  }
}, 30_000);

/** Sends a route's example, with the ids of things that exist. `send` checks the answer. */
async function asExample(
  route: Route,
  path: string,
  real: Record<string, string>,
): Promise<Received> {
  const known = (text: string) =>
    Object.entries(ids).reduce((now, [name, id]) => now.replaceAll(id, real[name] ?? id), text);
  const params: Record<string, string> = route.example.params ?? {};
  const target = path.replace(/\{(\w+)\}/g, (_, name) => known(params[name] ?? ""));
  const body = route.body && known(JSON.stringify(route.example.body));
  if (path === "/v2/events") return tailHead();
  return api.send(route.method, target, body === undefined ? {} : { body });
}

/** The tail does not end by itself: its head is enough. */
async function tailHead(): Promise<Received> {
  const stop = new AbortController();
  const { status, headers } = await fetch(`${api.url}/v2/events`, {
    headers: { Authorization: `Bearer ${api.token}` },
    signal: stop.signal,
  });
  stop.abort();
  return { status, headers, text: "", body: undefined };
}

/** One of each thing that the examples name, made by the examples themselves. */
async function things(): Promise<Record<string, string>> {
  const made: Record<string, string> = {};
  const make = async (key: string, query = "") => {
    const route = routes.find((it) => it.key === key)!;
    return (await asExample(route, route.path + query, made)).body;
  };
  const library = await make("POST /libraries", "?publish=true");
  const transformation = await make("POST /transformations", "?publish=true");
  Object.assign(made, {
    library: library.id,
    libraryVersion: library.versionId,
    transformation: transformation.id,
    transformationVersion: transformation.versionId,
  });
  for (const name of ["source", "destination", "member", "token", "credential"]) {
    made[name] = (await make(`POST /v2/${name}s`))[name].id;
  }
  const { sourceId, destinationId } = { sourceId: made.source!, destinationId: made.destination! };
  const { destination } = await api.client.call("PUT /v2/destinations/{id}", {
    params: { id: destinationId },
    body: { config: { webhookUrl: refusing.url.href } },
  });
  const body = { sourceId, destinationId: destination.id };
  made.connection = (await api.client.call("POST /v2/connections", { body })).connection.id;
  await api.page(sourceId, "anonymousId=a");
  for (;;) {
    const { deadLetters } = await api.client.call("GET /v2/dead-letters");
    if (deadLetters[0]) return withSecondSource({ ...made, deadLetter: deadLetters[0].id });
    await Bun.sleep(10);
  }
}

/** For the example that connects a source: the first one is connected already. */
async function withSecondSource(made: Record<string, string>): Promise<Record<string, string>> {
  const { source } = await api.client.call("POST /v2/sources", { body: { name: "Second" } });
  const params = { id: made.destination! };
  const body = { transformationId: made.transformation! };
  await api.client.call("PUT /v2/destinations/{id}/transformation", { params, body });
  return { ...made, source: source.id };
}

const refusing = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response(null, { status: 400 }),
});
afterAll(() => refusing.stop(true));

function contents(holder: any): any[] {
  return Object.values(holder?.content ?? {});
}

describe("/docs", () => {
  test("asks a browser for the token, and loads nothing from elsewhere", async () => {
    const asked = await api.send("GET", "/docs", { token: null });
    expect(asked.status).toBe(401);
    expect(asked.headers.get("www-authenticate")).toMatch(/^Bearer, Basic realm=/);
    const password = Buffer.from(`me:${api.token}`).toString("base64");
    const page = await api.send("GET", "/docs", {
      token: null,
      headers: { Authorization: `Basic ${password}` },
    });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy")!;
    expect(policy).toStartWith("default-src 'none'; connect-src 'self'; script-src 'sha256-");
    // Nothing is fetched but the document; the hashes are those of the page's own elements.
    expect(page.text).not.toMatch(/https?:\/\/|src=|@import|url\(/);
    for (const element of ["script", "style"]) {
      const inside = page.text.split(`<${element}>`)[1]!.split(`</${element}>`)[0]!;
      const hash = new Bun.CryptoHasher("sha256").update(inside).digest("base64");
      expect(policy).toContain(`${element}-src 'sha256-${hash}'`);
    }
  });
});
