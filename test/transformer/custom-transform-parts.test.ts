import { expect, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import type { HttpExchange } from "../../src/http/exchange.ts";
import type { Logger } from "../../src/observe/log.ts";
import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import type { Program, ProgramBatch } from "../../src/sandbox/program.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { GUEST_OUTPUT_LEVELS_MAX } from "../../src/settings/limits.ts";
import { answerOf, type ItemResult } from "../../src/transformer/custom-transform/answer.ts";
import { createCustomTransform } from "../../src/transformer/custom-transform/endpoint.ts";
import {
  credentialsOf,
  programRequest,
} from "../../src/transformer/custom-transform/program-request.ts";
import { itemsIn, type RequestItem } from "../../src/transformer/custom-transform/request-items.ts";
import {
  TRANSFORMER_BYTES_OF_WORKSPACE_MAX,
  TRANSFORMER_EVENTS_MAX,
} from "../../src/transformer/limits.ts";
import type { ProgramRequest, Programs } from "../../src/transformer/programs.ts";

/** Parts of `POST /customTransform` without a sandbox: bodies in, answers out. */

/** Levels of the lines that the endpoint logged. */
const logged: string[] = [];
const logger = {
  warn: () => void logged.push("warn"),
  error: () => void logged.push("error"),
} as unknown as Logger;

/** The items of a body; fails when the body is refused. */
function itemsOf(body: string): RequestItem[] {
  const items = itemsIn(Buffer.from(body));
  if ("problem" in items) throw new Error(items.problem);
  return items;
}

test("a body that is no JSON array of objects, or has too many, is refused", () => {
  const longest = `[${Array(TRANSFORMER_EVENTS_MAX).fill("{}").join(",")}]`;
  const table: [body: string | Uint8Array, status: 400 | 413 | undefined][] = [
    ["", 400],
    ["{}", 400],
    ["[", 400],
    ["[{}", 400],
    ["[{}}", 400],
    ["[{} {}]", 400],
    ["[{},]", 400],
    ["[,{}]", 400],
    ["[1]", 400],
    ["[{},[]]", 400],
    ["[]]", 400],
    ["[]x", 400],
    ["[{}]]", 400],
    ['[{"message":{]}]', 400],
    [new Uint8Array([0x5b, 0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x5d]), 400],
    [longest.replace("]", ",{}]"), 413],
    [longest, undefined],
    ["[]", undefined],
    [" [ ] ", undefined],
    [" [ {} , {} ] ", undefined],
  ];
  for (const [body, status] of table) {
    const items = itemsIn(Buffer.from(body));
    const found = "problem" in items ? items.status : undefined;
    expect([String(body).slice(0, 20), found]).toEqual([String(body).slice(0, 20), status]);
  }
});

test("an item has its event, its metadata and its workspace, if they are what they should be", () => {
  const table: [item: string, ...[message?: string, metadata?: string, workspaceId?: string]][] = [
    ["{}"],
    ['{"message":{"a":1}}', '{"a":1}'],
    ['{"message":[],"metadata":null}'],
    ['{"message":"{}","metadata":"{}"}'],
    [
      '{ "metadata" : {"workspaceId": "w1"} , "message": { } }',
      "{ }",
      '{"workspaceId": "w1"}',
      "w1",
    ],
    ['{"message":{},"metadata":{"workspaceId":1}}', "{}", '{"workspaceId":1}'],
    ['{"message":{},"metadata":{"workspaceId":"\\u0077"}}', "{}", '{"workspaceId":"\\u0077"}', "w"],
    ['{"message":1,"message":{"b":2},"more":{"message":{}}}', '{"b":2}'],
  ];
  const body = `[${table.map(([item]) => item).join(", ")}]`;
  const found = itemsOf(body).map(({ message, metadata, group }) => [
    ...[message, metadata].map((span) => span && body.slice(span.start, span.end)),
    group.workspaceId,
  ]);
  expect(found).toEqual(
    table.map(([, message, metadata, workspaceId = ""]) => [message, metadata, workspaceId]),
  );
});

test("items run together when all that selects their code is equal, wherever they stand", () => {
  const item = (workspaceId: string, more: Record<string, unknown> = {}) =>
    JSON.stringify({ metadata: { workspaceId }, message: {}, ...more });
  const destination = { destination: { ID: "d1" } };
  const items = itemsOf(
    `[${[
      item("w1"),
      item("w1"),
      item("w2"),
      item("w1", destination),
      item("w1", { destination: { ID: "d2" } }),
      item("w1", { libraries: [] }),
      item("w1", { credentials: [] }),
      item("w1", destination),
      item("w2"),
      // The members differ, and their texts in a row are equal.
      item("w1", { libraries: [], credentials: [1] }),
      item("w1", { libraries: [1], credentials: [] }),
      item("w1"),
    ].join(",")}]`,
  );
  const groups = [...new Set(items.map(({ group }) => group))];
  const numbers = items.map(({ group }) => groups.indexOf(group));
  expect(numbers).toEqual([0, 0, 1, 2, 3, 4, 5, 2, 1, 6, 7, 0]);
});

test("a group names its program as rudder-server writes it; malformed members count as absent", () => {
  const version = (id: unknown) => ({ Transformations: [{ VersionID: id }, { VersionID: "v2" }] });
  const none = { versionId: "", libraryVersionIds: [], credentials: {} };
  const table: [item: object, expected: Partial<ProgramRequest>][] = [
    [{}, {}],
    [{ destination: version("v1") }, { versionId: "v1" }],
    [{ destination: version(1) }, {}],
    [{ destination: { Transformations: [] } }, {}],
    [{ destination: { Transformations: { VersionID: "v1" } } }, {}],
    [{ destination: null, libraries: null, credentials: null }, {}],
    [{ destination: "v1", libraries: "v1", credentials: "v1" }, {}],
    [
      { libraries: [{ VersionID: "l1" }, {}, null, 1, { VersionID: "" }, { VersionID: "l2" }] },
      { libraryVersionIds: ["l1", "l2"] },
    ],
    [{ credentials: [{ key: "é", value: "v" }] }, { credentials: { é: "v" } }],
  ];
  for (const [item, expected] of table) {
    const metadata = { workspaceId: "w1" };
    const body = JSON.stringify([{ metadata, ...item }]);
    const [{ group }] = itemsOf(body) as [RequestItem];
    const request = programRequest(Buffer.from(body), group);
    expect(request).toEqual({ workspaceId: "w1", ...none, ...expected });
  }
});

test("credentials of a request are its pairs of texts, of which the last of a name counts", () => {
  const table: [list: unknown, credentials: Record<string, string>][] = [
    [undefined, {}],
    [{ key: "a", value: "b" }, {}],
    [[{ key: "a" }, { value: "b" }, null, "a", { key: 1, value: "b" }, { key: "a", value: 1 }], {}],
    [
      [
        { key: "a", value: "1" },
        { key: "b", value: "" },
        { key: "a", value: "2" },
      ],
      { a: "2", b: "" },
    ],
  ];
  for (const [list, expected] of table) expect(credentialsOf(list)).toEqual(expected);
  // An inherited member is none of the request.
  expect(credentialsOf([Object.create({ key: "a", value: "b" })])).toEqual({});
});

const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const outputs = (...events: string[]): ItemResult => ({ events: events.map(bytes) });
const failure = (message: string): ItemResult => ({ error: { message } });

test("the answer has an item for each output and failure, with the metadata as they came", () => {
  const metadata = '{ "jobId":1.0 }';
  const body = `[{"metadata":${metadata}},{},{"metadata":{}},{"metadata":{ }}]`;
  const answer = (results: ItemResult[], namesDropped = false) =>
    answerOf(Buffer.from(body), itemsOf(body), results, namesDropped).toString();
  const results = [
    outputs('{"a":1}', '{"a":2}'),
    outputs("{}"),
    failure('a "quote" and \ud800'),
    { problem: "Not found", status: 404 as const },
  ];
  const expected = [
    `{"output":{"a":1},"metadata":${metadata},"statusCode":200}`,
    `{"output":{"a":2},"metadata":${metadata},"statusCode":200}`,
    '{"output":{},"metadata":{},"statusCode":200}',
    '{"statusCode":400,"error":"a \\"quote\\" and �","metadata":{}}',
    '{"statusCode":404,"error":"Not found","metadata":{ }}',
  ];
  expect(answer(results)).toBe(`[${expected.join(",")}]`);
  expect(answer(results, true)).toBe(`[${expected.join(",")}]`);
  const dropped = Array(4).fill(outputs());
  expect(answer(dropped)).toBe("[]");
  const named = [
    '{"statusCode":298,"metadata":{ "jobId":1.0 ,"messageIds":null}}',
    ...Array(2).fill('{"statusCode":298,"metadata":{"messageIds":null}}'),
    '{"statusCode":298,"metadata":{ "messageIds":null}}',
  ];
  expect(answer(dropped, true)).toBe(`[${named.join(",")}]`);
  // Many long failures: an answer grows beyond the size that outputs would have.
  const long = failure("x".repeat(5_000));
  expect(JSON.parse(answer(Array(4).fill(long)))).toHaveLength(4);
});

test("an answer of outputs alone is written without a copy", () => {
  const body = '[{"metadata":{"jobId":1}},{},{"metadata":{"jobId":2}}]';
  const results = [outputs('{"a":1}', "{}"), outputs("{}"), outputs('{"b":[]}')];
  const answer = answerOf(Buffer.from(body), itemsOf(body), results, true);
  expect([answer.buffer.byteLength, answer.byteOffset]).toEqual([answer.length, 0]);
});

/** Sends a body to the endpoint, whose programs and runs are those of the test. */
function endpoint(given: {
  find?: (request: ProgramRequest) => Promise<Program | undefined>;
  run?: (program: Program, batch: ProgramBatch) => Promise<{ events: Uint8Array[] }[]>;
}) {
  const { find = async ({ versionId }) => ({ id: versionId, code: "" }) as Program } = given;
  const {
    run = async (_: Program, { events }: ProgramBatch) => events.map((it) => ({ events: [it] })),
  } = given;
  const handler = createCustomTransform({
    programs: { find } as Programs,
    sandbox: { run } as unknown as Sandbox,
    logger,
  });
  return async (
    body: unknown,
    {
      headers = {},
      isAwaited = () => true,
    }: { headers?: Record<string, string>; isAwaited?: () => boolean } = {},
  ) => {
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const exchange = { header: (name: string) => headers[name], body: () => bytes };
    const response = await handler(exchange as HttpExchange, isAwaited);
    const [head, text] = response.bytes("", false, false).toString().split("\r\n\r\n");
    const reason = /^X-Rudder-Error-Reason: (.*)$/m.exec(head!)?.[1]?.trim();
    return { status: response.status, reason, text: text!, json: () => JSON.parse(text!) };
  };
}

const item = (versionId: string, message: unknown = {}, more: object = {}) => ({
  message,
  metadata: { workspaceId: "w1" },
  destination: { Transformations: [{ VersionID: versionId }] },
  ...more,
});

test("each item is answered by the program of its group, in the order of the request", async () => {
  const runs: [id: string, events: string[]][] = [];
  const send = endpoint({
    find: async ({ versionId }) =>
      versionId === "gone" ? undefined : ({ id: versionId, code: "" } as Program),
    async run({ id }, { events, metadata }) {
      runs.push([id, events.map(String)]);
      expect(metadata.map(({ shared, own }) => [String(shared), own])).toEqual(
        events.map(() => ['{"workspaceId":"w1"}', ""]),
      );
      // The outputs of more than two events need too much memory at once.
      return events.slice(0, 2).map(() => ({ events: [bytes(JSON.stringify(id))] }));
    },
  });
  const { json } = await send([
    item("a", { n: 1 }),
    item("b", { n: 2 }),
    item("a", { n: 3 }),
    item("a", "no object"),
    item("gone"),
    item("no version!"),
    item("a", { n: 4 }),
    item(""),
  ]);
  expect(runs).toEqual([
    ["a", ['{"n":1}', '{"n":3}', '{"n":4}']],
    ["b", ['{"n":2}']],
    ["no version!", ["{}"]],
    ["a", ['{"n":4}']],
  ]);
  const answers = json().map(({ output, statusCode, error }: any) => output ?? [statusCode, error]);
  expect(answers).toEqual([
    ...["a", "b", "a"],
    [400, "Expected a message that is an object"],
    [404, "Transformation not found at gone: it was never published in the workspace"],
    "no version!",
    "a",
    [400, "Transformation VersionID not found"],
  ]);
});

test("an item that is nested too deep fails without a run, and the others run", async () => {
  const ran: string[] = [];
  const send = endpoint({
    async run(_, { events }) {
      ran.push(...events.map(String));
      return events.map((it) => ({ events: [it] }));
    },
  });
  const deep = JSON.parse(
    `${"[".repeat(GUEST_OUTPUT_LEVELS_MAX)}${"]".repeat(GUEST_OUTPUT_LEVELS_MAX)}`,
  );
  const { json } = await send([item("a", { n: 1 }), item("a", { deep }), item("a", { n: 2 })]);
  expect(ran).toEqual(['{"n":1}', '{"n":2}']);
  expect(json().map(({ output, error }: any) => output ?? error)).toEqual([
    { n: 1 },
    "Expected an event with at most 1000 levels",
    { n: 2 },
  ]);
});

test("an event without metadata runs with an empty object", async () => {
  const shared: string[] = [];
  const send = endpoint({
    find: async () => ({ id: "a", code: "" }) as Program,
    async run(_, { events, metadata }) {
      shared.push(...metadata.map((it) => String(it.shared)));
      return events.map((it) => ({ events: [it] }));
    },
  });
  const { json } = await send([item("a", {}, { metadata: undefined })]);
  expect(shared).toEqual(["{}"]);
  expect(json()).toEqual([{ output: {}, metadata: {}, statusCode: 200 }]);
});

test("a version that has not the form of one is not repeated in the error", async () => {
  const send = endpoint({ find: async () => undefined });
  const { json } = await send([item("<script>"), item("v".repeat(64)), item("v".repeat(65))]);
  const named = json().map(({ error }: any) => error.split(" ")[4].replace(":", ""));
  expect(named).toEqual(["this", "v".repeat(64), "this"]);
});

test("dropped events are named only for a server that asks for it", async () => {
  const send = endpoint({ run: async (_, { events }) => events.map(() => ({ events: [] })) });
  const asks: [value: string | undefined, count: number][] = [
    ["?1", 1],
    ["true", 1],
    ["?0", 0],
    ["false", 0],
    [undefined, 0],
  ];
  for (const [value, count] of asks) {
    const headers = { ...(value !== undefined && { "x-feature-filter-code": value }) };
    expect([value, (await send([item("a")], { headers })).json().length]).toEqual([value, count]);
  }
});

test("a body with an encoding is refused, and one that says that it has none is read", async () => {
  const send = endpoint({});
  const statusOf = async (coding: string) =>
    (await send("[]", { headers: { "content-encoding": coding } })).status;
  expect([await statusOf("gzip"), await statusOf("Identity")]).toEqual([415, 200]);
  const { status, text } = await send("{}");
  expect([status, text]).toEqual([400, "Expected a body that is a JSON array of objects"]);
});

test("requests of one workspace above its bytes are sent again, and room is given back", async () => {
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const send = endpoint({
    async run(_, { events }) {
      await ended;
      return events.map((it) => ({ events: [it] }));
    },
  });
  // A small request counts 64 KiB.
  const most = TRANSFORMER_BYTES_OF_WORKSPACE_MAX / 65_536;
  const running = Array.from({ length: most }, () => send([item("a")]));
  const refused = await send([item("a")]);
  expect([refused.status, refused.reason]).toEqual([503, "busy"]);
  const other = send([item("a", {}, { metadata: { workspaceId: "w2" } })]);
  end();
  const statuses = await Promise.all([...running, other].map(async (it) => (await it).status));
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect((await send([item("a")])).status).toBe(200);
});

test("a request is sent again when its code cannot run, or its client has gone", async () => {
  const failing = endpoint({ run: () => Promise.reject(new Error("x")) });
  const unknown = endpoint({ find: () => Promise.reject(new Error("x")) });
  const stopped = endpoint({ run: () => Promise.reject(new SandboxUnavailable("x")) });
  const broken = endpoint({ run: () => Promise.reject(new InvariantError("x")) });
  const gone = endpoint({});
  const reasons = [
    await failing([item("a")]),
    await stopped([item("a")]),
    await unknown([item("a")]),
    await gone([item("a")], { isAwaited: () => false }),
  ].map(({ status, reason }) => [status, reason]);
  const noCode = [503, "user_code_unavailable"];
  expect(reasons).toEqual([noCode, noCode, noCode, [503, "failed"]]);
  // A sandbox without a free guest is no fault of this server.
  expect(logged).toEqual(["error", "warn", "error"]);
  await expect(broken([item("a")])).rejects.toThrow(InvariantError);
});
