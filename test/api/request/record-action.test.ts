import { expect, test } from "bun:test";
import { runRecorded } from "../../../src/api/request/record-action.ts";
import type { Route } from "../../../src/api/route.ts";
import { currentCaller } from "../../../src/catalog/audit/caller.ts";
import { ApiError } from "../../../src/errors.ts";

type Request = Parameters<typeof runRecorded>[0];

/** Runs a request with an audit log in memory; resolves with what was recorded. */
async function recorded(
  {
    route,
    params = {},
    body,
    tokenId = "t1",
    client = "192.0.2.1",
  }: {
    route: Partial<Route>;
    params?: Record<string, string>;
    body?: unknown;
    tokenId?: string;
    client?: string;
  },
  handle: () => unknown = () => "answer",
  conclude = async () => {},
) {
  const begun: any[] = [];
  const ended: any[] = [];
  const warnings: string[] = [];
  let caller: ReturnType<typeof currentCaller>;
  const audit = {
    async begin(entry: object) {
      begun.push(entry);
      return { id: "e1" };
    },
    async conclude(entry: object, end: object) {
      ended.push({ entry, ...end });
      await conclude();
    },
  };
  const request = {
    route: { method: "POST", key: "POST /things", status: 200, ...route },
    deps: {
      catalog: { audit },
      logger: { warn: (_: object, line: string) => warnings.push(line) },
    },
    principal: { workspaceId: "w1", tokenId },
    client: () => client,
    ...{ params, body },
  } as unknown as Request;
  const answer = await runRecorded(request, () => {
    caller = currentCaller();
    return handle();
  }).catch((error: unknown) => error);
  return { answer, begun, ended, warnings, caller };
}

test("a change names its caller; a read has none, except one that begins a session", async () => {
  const named = {
    tokenId: "t1",
    client: "192.0.2.1",
    route: "POST /things",
    requestId: expect.any(String),
  };
  const { tokenId: _, ...withoutToken } = named;
  const { client: _c, ...withoutClient } = named;
  const table: [request: Parameters<typeof recorded>[0], caller: object | undefined][] = [
    [{ route: {} }, named],
    [{ route: { method: "PUT", audit: "none" } }, named],
    [{ route: {}, tokenId: "" }, withoutToken],
    [{ route: {}, client: "" }, withoutClient],
    [{ route: { method: "GET" } }, undefined],
    [{ route: { method: "GET", status: 303 } }, named],
  ];
  for (const [request, caller] of table) {
    const found = await recorded(request);
    expect(found.answer).toBe("answer");
    expect(found.caller).toEqual(caller as never);
    expect(found.begun).toEqual([]);
  }
});

const replay = { audit: "replay.start" as const };

test("an action is recorded before it begins, with its parameters and the items that it concerns", async () => {
  const table: [body: unknown, concerns: string[], parameters?: object][] = [
    [undefined, [], {}],
    ["text", [], {}],
    [{ sourceId: "s1", destinationId: "d1" }, ["s1", "d1"]],
    [{ sourceId: 1, filter: { sourceId: "s2", destinationId: null } }, ["s2"]],
    [{ destinationId: "d1", filter: { destinationId: "d2" } }, ["d1", "d2"]],
    [{ filter: "text" }, []],
    [{ filter: null }, []],
  ];
  for (const [body, concerns, parameters = body] of table) {
    const { begun, ended } = await recorded({ route: replay, body }, () => {});
    expect(begun).toEqual([{ workspaceId: "w1", action: "replay.start", concerns, parameters }]);
    expect(ended).toEqual([{ entry: { id: "e1" }, outcome: "done", results: {} }]);
  }
  const { begun } = await recorded({ route: replay, params: { id: "r1" } });
  expect(begun[0].resource).toEqual({ type: "replay", id: "r1" });
});

test("the outcome of an action has the numbers and the ids of its answer, or why it failed", async () => {
  const answer = {
    count: 2,
    job: { id: "j1", state: "x" },
    other: { id: 1 },
    text: "x",
    none: null,
  };
  const done = await recorded({ route: replay }, () => answer);
  expect(done.answer).toBe(answer);
  expect(done.ended[0]).toMatchObject({ outcome: "done", results: { count: 2, "job.id": "j1" } });
  expect(Object.keys(done.ended[0].results)).toEqual(["count", "job.id"]);
  const errors: [error: Error, reason: string][] = [
    [new ApiError("conflict", "A replay runs already"), "A replay runs already"],
    [new Error("secret detail"), "Internal error"],
  ];
  for (const [error, reason] of errors) {
    const failed = await recorded({ route: replay }, () => Promise.reject(error));
    expect(failed.answer).toBe(error);
    expect(failed.ended).toEqual([{ entry: { id: "e1" }, outcome: "failed", reason }]);
  }
});

test("an action whose outcome cannot be recorded is answered all the same", async () => {
  const full = () => Promise.reject(new Error("The disk is full"));
  const { answer, warnings } = await recorded({ route: replay }, () => "answer", full);
  expect([answer, ...warnings]).toEqual(["answer", "outcome of an action not recorded"]);
});
