import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { routes } from "../../../src/api/route-table.ts";
import { misfits } from "../_contract.ts";
import { exampleOf, inOrder, makeThings, ofProvider, sendExample } from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
let document: any;
beforeAll(async () => {
  api = await startApi();
  document = (await api.send("GET", "/docs/json")).body;
});
afterAll(() => api.stop());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, { servers: _, ...methods }]: [string, any]) =>
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
        // Other tests hold those of the data plane against its listener.
        .filter(({ operation }) => !/pixel|sdk|rudder-server/.test(operation.tags[0]))
        .map(({ key }) => key)
        .sort(),
    ).toEqual(served.sort());
  });

  test("asks for no credentials at open routes alone", () => {
    const isOpen = new Map<string, boolean>(
      routes.map(({ key, needs }) => [key, needs === "open"]),
    );
    const known = operations().filter(({ key }) => isOpen.has(key));
    expect(known.length).toBeGreaterThan(60);
    for (const { key, operation } of known) {
      expect([key, operation.security]).toEqual([key, isOpen.get(key) ? [] : undefined]);
    }
  });

  test("has every schema that it refers to, and names each operation once", () => {
    const references = JSON.stringify(document).matchAll(
      /"\$ref":"#\/components\/schemas\/(\w+)"/g,
    );
    const named = Object.keys(document.components.schemas);
    for (const [, name] of references) expect(named).toContain(name!);
    const operationIds = operations().map(({ operation }) => operation.operationId);
    expect(new Set(operationIds).size).toBe(operationIds.length);
    expect(JSON.stringify(document)).not.toContain("$id");
  });

  test("describes the settings of every kind of destination, secrets as write-only", () => {
    const { anyOf } = document.components.schemas.DestinationConfig;
    expect(anyOf.map((it: any) => it.title)).toEqual([
      "webhook",
      "file",
      "postgres",
      "clickhouse",
      "s3",
      "kafka",
    ]);
    const [{ properties }] = anyOf;
    expect([properties.secret.writeOnly, properties.webhookUrl.writeOnly]).toEqual([
      true,
      undefined,
    ]);
  });

  test("names 503 and not 429 for what rudder-server asks, which takes 429 for a final answer", () => {
    const statusesOf = (path: string) => Object.keys(document.paths[path].get.responses);
    for (const path of ["/transformation/getByVersionId", "/workspaceConfig"]) {
      expect(statusesOf(path)).toContain("503");
      expect(statusesOf(path)).not.toContain("429");
    }
    expect(statusesOf("/transformations")).toContain("429");
  });

  test("says what If-None-Match does: 304 for reads, 412 for changes", () => {
    const told = operations().flatMap(({ key, operation }) => {
      const parameters: any[] = operation.parameters ?? [];
      const { description } = parameters.find(({ name }) => name === "If-None-Match") ?? {};
      return description === undefined
        ? []
        : [{ isRead: key.startsWith("GET "), description, operation }];
    });
    expect(new Set(told.map(({ isRead }) => isRead))).toEqual(new Set([true, false]));
    for (const { isRead, description, operation } of told) {
      const effect = isRead ? "304 when it has one" : "412, and no change, when it has one";
      expect(description).toEndWith(`none of which the resource may have: ${effect}`);
      expect(Object.keys(operation.responses)).toContain(isRead ? "304" : "412");
    }
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
      if (status !== 204 && status !== 303) expect(misfits(answer, example.answer)).toEqual([]);
      if (body) expect(misfits(body, example.body)).toEqual([]);
      expect(media === undefined || typeof example.answer === "string").toBe(true);
    },
  );
});

test("every route accepts its example and answers as its schema says", async () => {
  const things = await makeThings(api);
  for (const route of inOrder) {
    if (ofProvider.has(route.key)) continue;
    for (const path of [route.path, ...route.aliases]) {
      const { status, text } = await sendExample(api, exampleOf(route, things, path));
      const shown = status === route.status ? "" : text;
      expect([route.method, path, status, shown]).toEqual([route.method, path, route.status, ""]);
    }
  }
}, 300_000);

function contents(holder: any): any[] {
  return Object.values(holder?.content ?? {});
}

describe("/docs", () => {
  test("asks a browser for the token, and loads nothing from other hosts", async () => {
    const asked = await api.send("GET", "/docs", { token: null });
    expect(asked.status).toBe(401);
    expect(asked.headers.get("www-authenticate")).toMatch(/^Basic realm="[^"]+"$/);
    const password = Buffer.from(`me:${api.token}`).toString("base64");
    const page = await api.send("GET", "/docs", {
      token: null,
      headers: { Authorization: `Basic ${password}` },
    });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy")!;
    expect(policy).toStartWith(
      "default-src 'none'; connect-src 'self' http://127.0.0.1:8080; script-src 'sha256-",
    );
    // Nothing is fetched but the document; the hashes are those of the page's own elements.
    expect(page.text).not.toMatch(/https?:\/\/|src=|@import|url\(/);
    for (const element of ["script", "style"]) {
      const inside = page.text.split(`<${element}>`)[1]!.split(`</${element}>`)[0]!;
      const hash = new Bun.CryptoHasher("sha256").update(inside).digest("base64");
      expect(policy).toContain(`${element}-src 'sha256-${hash}'`);
    }
  });
});
