import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const javascript = { name: "Shout", language: "javascript" } as const;
const code = "export const transformEvent = (event) => event;";
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function newDestination(name = "Sink"): Promise<string> {
  const { destination } = await api.client.call("POST /v2/destinations", {
    body: { name, type: "file", config: { path: "out.jsonl" } },
  });
  return destination.id;
}

describe("POST /transformations", () => {
  test("answers a draft with the documented fields and no destinations", async () => {
    const { status, body } = await api.send("POST", "/transformations", {
      body: { ...javascript, description: "Loud", code },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.any(String),
      versionId: expect.any(String),
      name: "Shout",
      description: "Loud",
      code,
      codeVersion: "1",
      language: "javascript",
      createdAt: expect.stringMatching(time),
      updatedAt: body.createdAt,
      workspaceId: api.workspaceId,
      imports: [],
      isPublished: false,
      wasPublished: false,
      createdBy: expect.any(String),
      createdWith: expect.any(String),
    });
    expect((await api.send("GET", `/transformations/${body.id}`)).status).toBe(404);
  });

  test("publishes by query or body; the query wins", async () => {
    const table = [
      ["?publish=true", undefined, true],
      ["?publish=false", true, false],
      ["?publish=true", false, true],
      ["", true, true],
      ["", false, false],
      ["", undefined, false],
    ] as const;
    for (const [query, publish, published] of table) {
      const body = { ...javascript, code, publish };
      const created = await api.send("POST", `/transformations${query}`, { body });
      expect(created.body.destinations).toEqual(published ? [] : undefined);
      const { status } = await api.send("GET", `/transformations/${created.body.id}`);
      expect(status).toBe(published ? 200 : 404);
    }
  });

  test.each(["?publish=yes", "?publish=", "?publish", "?publish=1", "?publish=true&publish=true"])(
    "refuses %s",
    async (query) => {
      const answer = await api.send("POST", `/transformations${query}`, { body: javascript });
      expect(answer.status).toBe(400);
      expect(answer.body.details[0].path).toBe("?publish");
    },
  );

  test("refuses a publish flag in the body that is no boolean", async () => {
    const { status } = await api.send("POST", "/transformations", {
      body: { ...javascript, publish: "true" },
    });
    expect(status).toBe(400);
  });

  test("connects destinations under both keys, as strings and as objects", async () => {
    const [a, b] = [await newDestination("A"), await newDestination("B")];
    const { body } = await api.send("POST", "/transformations?publish=true", {
      body: { ...javascript, code, destinationIds: [a], destinations: [{ id: b }, a] },
    });
    expect(body.destinations).toEqual([
      { id: a, name: "A", enabled: true },
      { id: b, name: "B", enabled: true },
    ]);
  });

  test("ignores destinations unless it publishes", async () => {
    const id = await newDestination();
    const created = await api.client.call("POST /transformations", {
      body: { ...javascript, destinations: [id, "unknown"] },
    });
    expect(created.destinations).toBeUndefined();
    expect(await linkOf(id)).toBe(404);
  });

  test("stores nothing when a destination is unknown", async () => {
    const before = await api.client.call("GET /transformations");
    const { status } = await api.send("POST", "/transformations?publish=true", {
      body: { ...javascript, code, destinations: ["unknown"] },
    });
    expect(status).toBe(404);
    expect(await api.client.call("GET /transformations")).toEqual(before);
  });

  test("trims the name before it counts its characters", async () => {
    const name = `\t${"é".repeat(255)}  `;
    const created = await api.client.call("POST /transformations", {
      body: { ...javascript, name },
    });
    expect(created.name).toBe(name.trim());
    for (const bad of ["", "   ", "é".repeat(256)]) {
      const body = { ...javascript, name: bad };
      expect((await api.send("POST", "/transformations", { body })).status).toBe(400);
    }
  });

  test("answers the language as it was sent, and refuses others", async () => {
    for (const language of ["javascript", "pythonfaas", "python"] as const) {
      const created = await api.client.call("POST /transformations", {
        body: { name: "Any", language },
      });
      expect(created.language).toBe(language);
    }
    const { status, body } = await api.send("POST", "/transformations", {
      body: { name: "Any", language: "ruby" },
    });
    expect(status).toBe(400);
    expect(body).toEqual({
      message:
        "Expected one of javascript, pythonfaas, python at /language, got a string of 4 characters",
      details: [
        {
          path: "/language",
          message: "Expected one of javascript, pythonfaas, python, got a string of 4 characters",
        },
      ],
    });
  });

  test("never takes ids, times and codeVersion from the body", async () => {
    const { body } = await api.send("POST", "/transformations", {
      body: {
        ...javascript,
        id: "mine",
        versionId: "mine",
        workspaceId: "mine",
        createdAt: "mine",
        updatedAt: "mine",
        codeVersion: "2",
      },
    });
    expect(JSON.stringify(body)).not.toContain("mine");
    expect(body.codeVersion).toBe("1");
  });

  test("bounds code, description and events", async () => {
    const longest = { code: "é".repeat(1 << 19), description: "d".repeat(4_096) };
    const events = Array.from({ length: 500 }, () => ({}));
    const good = { ...javascript, ...longest, events };
    expect((await api.send("POST", "/transformations", { body: good })).status).toBe(200);
    for (const bad of [
      { code: `${longest.code}x` },
      { description: "d".repeat(4_097) },
      { events: [...events, {}] },
      { events: [1] },
      { events: "[]" },
    ]) {
      const answer = await api.send("POST", "/transformations", {
        body: { ...javascript, ...bad },
      });
      expect([answer.status, answer.body.details[0].path.split("/")[1]]).toEqual([
        400,
        Object.keys(bad)[0],
      ]);
    }
  });
});

describe("POST /transformations/{id}", () => {
  test("makes a new revision that keeps the fields absent from the body, also when all are absent", async () => {
    const created = await api.client.call("POST /transformations", {
      body: { ...javascript, description: "One", code },
    });
    const { id } = created;
    const named = await api.client.call("POST /transformations/{id}", {
      params: { id },
      body: { name: "Two" },
    });
    expect(named).toEqual({
      ...created,
      name: "Two",
      versionId: named.versionId,
      updatedAt: named.updatedAt,
    });
    expect(named.versionId).not.toBe(created.versionId);
    expect(named.updatedAt > created.createdAt).toBe(true);
    const empty = await api.send("POST", `/transformations/${id}`);
    expect(empty.status).toBe(200);
    expect(empty.body.versionId).not.toBe(named.versionId);
    expect(empty.body.name).toBe("Two");
  });

  test("64 at once make 64 revisions, of which the last is the newest", async () => {
    const { id } = await api.client.call("POST /transformations", { body: javascript });
    const params = { id };
    const updated = await Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        api.client.call("POST /transformations/{id}", { params, body: { name: `N${n}` } }),
      ),
    );
    expect(new Set(updated.map((it) => it.versionId)).size).toBe(64);
    const { TransformationVersions: listed } = await api.client.call(
      "GET /transformations/{id}/versions",
      { params, query: { count: 100 } },
    );
    expect(listed).toHaveLength(65);
    const next = await api.client.call("POST /transformations/{id}", { params, body: {} });
    expect(next.name).toBe(listed.at(-1)!.name);
  });

  test("refuses another language, and an unknown id", async () => {
    const { id } = await api.client.call("POST /transformations", { body: javascript });
    const other = await api.send("POST", `/transformations/${id}`, {
      body: { language: "pythonfaas" },
    });
    expect([other.status, other.body.message]).toEqual([400, "Language cannot be changed"]);
    expect((await api.send("POST", "/transformations/unknown", { body: {} })).status).toBe(404);
  });

  test("keeps serving the published revision until the new one is published", async () => {
    const first = await api.client.call("POST /transformations", {
      query: { publish: true },
      body: { ...javascript, code },
    });
    const params = { id: first.id };
    const draft = await api.client.call("POST /transformations/{id}", {
      params,
      body: { name: "Draft" },
    });
    expect(draft.destinations).toBeUndefined();
    const shown = await api.client.call("GET /transformations/{id}", { params });
    expect([shown.versionId, shown.name]).toEqual([first.versionId, "Shout"]);
    // The resource's own times: its creation, and its newest revision.
    expect([shown.createdAt, shown.updatedAt]).toEqual([first.createdAt, draft.updatedAt]);
    const second = await api.client.call("POST /transformations/{id}", {
      params,
      query: { publish: true },
      body: {},
    });
    expect(second.destinations).toEqual([]);
    const now = await api.client.call("GET /transformations/{id}", { params });
    expect([now.versionId, now.name]).toEqual([second.versionId, "Draft"]);
  });
});

describe("versions", () => {
  test("list by creation, five unless asked, of drafts and deleted ones too", async () => {
    const { id, versionId } = await api.client.call("POST /transformations", { body: javascript });
    const all = [versionId];
    for (let n = 0; n < 6; n++) {
      const next = await api.client.call("POST /transformations/{id}", {
        params: { id },
        body: {},
      });
      all.push(next.versionId);
    }
    const path = `/transformations/${id}/versions`;
    const listed = async (query: string) => {
      const { body } = await api.send("GET", path + query);
      return body.TransformationVersions.map((it: any) => it.versionId);
    };
    expect(await listed("")).toEqual(all.slice(0, 5));
    expect(await listed("?count=2")).toEqual(all.slice(0, 2));
    expect(await listed("?orderBy=DESC&count=1000")).toEqual(all.toReversed());
    await api.client.call("DELETE /transformations/{id}", { params: { id } });
    expect(await listed("?orderBy=asc&count=7")).toEqual(all);
    const one = await api.send("GET", `${path}/${all[3]}`);
    expect(one.body).toEqual({
      id,
      versionId: all[3],
      name: "Shout",
      description: "",
      code: "",
      codeVersion: "1",
      language: "javascript",
      createdAt: expect.stringMatching(time),
      updatedAt: one.body.createdAt,
      workspaceId: api.workspaceId,
      imports: [],
      isPublished: false,
      wasPublished: false,
      createdBy: expect.any(String),
      createdWith: expect.any(String),
    });
    expect((await api.send("GET", `${path}/unknown`)).status).toBe(404);
    for (const bad of ["count=0", "count=1001", "count=x", "count=1.5", "count=-1", "orderBy=up"]) {
      expect([bad, (await api.send("GET", `${path}?${bad}`)).status]).toEqual([bad, 400]);
    }
  });
});

describe("DELETE /transformations/{id}", () => {
  test("disconnects, and is 404 the second time", async () => {
    const destinationId = await newDestination();
    const { id } = await api.client.call("POST /transformations", {
      query: { publish: true },
      body: { ...javascript, code, destinationIds: [destinationId] },
    });
    expect(await linkOf(destinationId)).toBe(200);
    const path = `/transformations/${id}`;
    const first = await api.send("DELETE", path);
    expect([first.status, first.body]).toEqual([200, { success: true }]);
    expect(await linkOf(destinationId)).toBe(404);
    expect((await api.send("DELETE", path)).status).toBe(404);
    expect((await api.send("GET", path)).status).toBe(404);
  });

  test("deletes a draft as well", async () => {
    const { id } = await api.client.call("POST /transformations", { body: javascript });
    expect((await api.send("DELETE", `/transformations/${id}`)).status).toBe(200);
  });
});

describe("connectToDestination", () => {
  const connect = (id: string, destinationId: string, verb = "connectToDestination") =>
    api.send("POST", `/transformations/${id}/${verb}`, { body: { destinationId } });

  test("refuses a draft in the specification's words", async () => {
    const { id } = await api.client.call("POST /transformations", { body: javascript });
    const { status, body } = await connect(id, await newDestination());
    expect([status, body]).toEqual([400, { message: "Transformation is not published" }]);
  });

  test("moves the destination, is idempotent, and so is disconnect", async () => {
    const destinationId = await newDestination("Moved");
    const [a, b] = await Promise.all(
      ["A", "B"].map((name) =>
        api.client.call("POST /transformations", {
          query: { publish: true },
          body: { name, language: "javascript", code },
        }),
      ),
    );
    await connect(a!.id, destinationId);
    for (let times = 0; times < 2; times++) {
      const { status, body } = await connect(b!.id, destinationId);
      expect([status, body.destinations]).toEqual([
        200,
        [{ id: destinationId, name: "Moved", enabled: true }],
      ]);
    }
    const left = await api.client.call("GET /transformations/{id}", { params: { id: a!.id } });
    expect(left.destinations).toEqual([]);
    for (let times = 0; times < 2; times++) {
      const { status, body } = await connect(b!.id, destinationId, "disconnectFromDestination");
      expect([status, body.destinations]).toEqual([200, []]);
    }
    expect((await connect(b!.id, "unknown")).status).toBe(404);
    expect((await connect(b!.id, "unknown", "disconnectFromDestination")).status).toBe(404);
    expect((await connect("unknown", destinationId)).status).toBe(404);
  });
});

test("the external id is answered once it is set", async () => {
  const { id } = await api.client.call("POST /transformations", {
    query: { publish: true },
    body: { ...javascript, code, externalId: "first" },
  });
  const params = { id };
  expect((await api.client.call("GET /transformations/{id}", { params })).externalId).toBe("first");
  await api.client.call("PUT /transformations/{id}/external-id", {
    params,
    body: { externalId: "second" },
  });
  const { transformations } = await api.client.call("GET /transformations");
  expect(transformations.find((it) => it.id === id)?.externalId).toBe("second");
});

async function linkOf(destinationId: string): Promise<number> {
  return (await api.send("GET", `/v2/destinations/${destinationId}/transformation`)).status;
}
