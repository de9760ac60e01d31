import { heapStats } from "bun:jsc";
import { expect, spyOn, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { InvariantError } from "../../src/assert.ts";
import { ApiError } from "../../src/errors.ts";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import type { Logger } from "../../src/observe/log.ts";
import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { BODY_BYTES_MAX, DRAIN_MS_MAX } from "../../src/settings/limits.ts";
import { TRANSFORMER_BODY_BYTES_MAX } from "../../src/transformer/limits.ts";
import { version } from "../../src/version.ts";
import { freshTransformer } from "./_setup.ts";

/** The listener for rudder-server over a sandbox that runs no code. */

const outputs: Sandbox["run"] = async (_, { events }) => events.map((it) => ({ events: [it] }));

/** A sandbox whose tests of code pass, and whose runs are those of the test. */
const sandboxWith = (more: Partial<Sandbox> = {}) =>
  ({
    inspect: async () => ({ imports: [] }),
    checkAll: async (_: unknown, batches: unknown[]) =>
      batches.map(() => ({ outcomes: [], logs: [] })),
    run: outputs,
    close: async () => {},
    ...more,
  }) as unknown as Sandbox;

function recorder() {
  const lines: unknown[] = [];
  const add = (level: string) => (line: unknown) => void lines.push([level, line]);
  const logger = { info: add("info"), warn: add("warn"), error: add("error") };
  return { lines, logger: logger as unknown as Logger };
}

test("a listener that the network can reach without a secret is warned of", async () => {
  const secret = "s".repeat(32);
  const cases: [host: string, secret: string | undefined, count: number][] = [
    ["0.0.0.0", undefined, 1],
    ["0.0.0.0", secret, 0],
    ["127.0.0.1", undefined, 0],
    ["localhost", undefined, 0],
  ];
  for (const [host, given, count] of cases) {
    const { lines, logger } = recorder();
    await freshTransformer({ sandbox: sandboxWith(), host, secret: given, logger });
    const expected = ["warn", expect.stringContaining("transformer.secret")];
    expect([host, lines]).toEqual([host, Array(count).fill(expected)]);
  }
});

test("a listener on a socket of systemd is judged by the socket's address, not by the settings", async () => {
  const cases: [bound: string, setting: string, warnings: number, status: number][] = [
    ["0.0.0.0", "127.0.0.1", 1, 200],
    ["127.0.0.1", "0.0.0.0", 0, 403],
  ];
  for (const [bound, host, warnings, expected] of cases) {
    const { lines, logger } = recorder();
    const socket = { ...openListeningSocket({ host: bound, port: 0 }), host: bound };
    await freshTransformer({ sandbox: sandboxWith(), host, socket, logger });
    expect([bound, lines.length]).toEqual([bound, warnings]);
    const headers = { host: "events.internal:9090" };
    const { status } = await fetch(`http://127.0.0.1:${socket.port}/health`, { headers });
    expect([bound, status]).toEqual([bound, expected]);
  }
});

test("events may be as large as their own limit, other requests as those of the API", async () => {
  const { transformer } = await freshTransformer({ sandbox: sandboxWith() });
  const { port, hostname } = new URL(transformer.url);
  const statusOf = async (path: string, bytes: number) => {
    const socket = connect(Number(port), hostname);
    const length = `Content-Length: ${bytes}\r\nExpect: 100-continue`;
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n${length}\r\n\r\n`);
    const [chunk] = await once(socket, "data");
    socket.destroy();
    return Number(String(chunk).slice(9, 12));
  };
  const cases: [path: string, bytes: number][] = [
    ["/customTransform", TRANSFORMER_BODY_BYTES_MAX],
    ["/transformation/test", BODY_BYTES_MAX],
  ];
  for (const [path, most] of cases) {
    const statuses = [await statusOf(path, most), await statusOf(path, most + 1)];
    expect([path, ...statuses]).toEqual([path, 100, 413]);
  }
});

test("a request that this server fails at is logged, and sent again", async () => {
  const error = new InvariantError("broken");
  const { lines, logger } = recorder();
  const sandbox = sandboxWith({ run: () => Promise.reject(error) });
  const { publish, send, item } = await freshTransformer({ sandbox, logger });
  const { versionId } = await publish("transformation", "export const transformEvent = 1;");
  const { status, headers } = await send([item(versionId, {})]);
  expect([status, headers.get("x-rudder-error-reason")]).toEqual([503, "failed"]);
  expect(lines).toEqual([["error", { err: error }]]);
});

test("events of a page in a browser are refused, and those for any name of this machine are not", async () => {
  const { publish, send, item } = await freshTransformer({ sandbox: sandboxWith() });
  const { versionId } = await publish("transformation", "export const transformEvent = 1;");
  const answerTo = async (headers: Record<string, string>) => {
    const { status, headers: given, body } = await send([item(versionId, { n: 1 })], headers);
    return [status, given.get("x-rudder-error-reason") ?? body[0].output];
  };
  // Another status than 503 would lose the events of a rudder-server behind a proxy.
  expect(await answerTo({ origin: "https://a.example" })).toEqual([503, "page"]);
  expect(await answerTo({ "sec-fetch-site": "same-origin" })).toEqual([503, "page"]);
  expect(await answerTo({ host: "events.internal:9090" })).toEqual([200, { n: 1 }]);
});

test("paths of RudderStack's transformer without code are answered", async () => {
  const { transformer } = await freshTransformer({ sandbox: sandboxWith() });
  const answerOf = async (method: string, path: string) => {
    const response = await fetch(transformer.url + path, { method });
    return [response.status, await response.text()];
  };
  const ok = (value: unknown) => [200, typeof value === "string" ? value : JSON.stringify(value)];
  expect(await answerOf("GET", "/health")).toEqual(ok({ service: "UP", version }));
  expect(await answerOf("GET", "/version")).toEqual(ok(version));
  expect(await answerOf("GET", "/buildVersion")).toEqual(ok(version));
  expect(await answerOf("POST", "/transformation/sethandle")).toEqual(ok({ success: true }));
  const none = "There is nothing at this path";
  expect(await answerOf("GET", "/none")).toEqual([404, none]);
  expect(await answerOf("GET", "/customTransform")).toEqual([404, `${none}: it expects POST`]);
});

test("code of an unknown version is not found, or asked for again while nodes are unknown", async () => {
  const { catalog } = await freshTransformer({ sandbox: sandboxWith() });
  const answers = async (current: () => Promise<void>) => {
    const { logger } = recorder();
    const { transformer } = await freshTransformer({
      sandbox: sandboxWith(),
      catalog: { ...catalog, current },
      logger,
    });
    const kinds = ["transformation", "transformationLibrary"];
    return await Promise.all(
      kinds.map(async (kind) => {
        const response = await fetch(`${transformer.url}/${kind}/getByVersionId?versionId=x`);
        const { message } = (await response.json()) as { message?: string };
        return [response.status, message ?? response.headers.get("x-rudder-error-reason")];
      }),
    );
  };
  expect(await answers(async () => {})).toEqual([
    [404, "Transformation not found"],
    [404, "Library not found"],
  ]);
  const unavailable = new ApiError("unavailable", "No brokers");
  const again = [503, "unavailable"];
  expect(await answers(() => Promise.reject(unavailable))).toEqual([again, again]);
  const failed = [503, "failed"];
  expect(await answers(() => Promise.reject(new Error("x")))).toEqual([failed, failed]);
});

test("a test of code that cannot run now is to be sent again", async () => {
  const sandbox = sandboxWith({ check: () => Promise.reject(new SandboxUnavailable("no guest")) });
  const { transformer } = await freshTransformer({ sandbox });
  const body = JSON.stringify({
    trRevCode: { code: "c", language: "javascript" },
    events: [{ message: {} }],
  });
  const response = await fetch(`${transformer.url}/transformation/test`, { method: "POST", body });
  const reason = response.headers.get("x-rudder-error-reason");
  expect([response.status, reason]).toEqual([503, "user_code_unavailable"]);
});

test("a listener keeps nothing of the requests that it has answered", async () => {
  const { transformer } = await freshTransformer({ sandbox: sandboxWith() });
  const promisesAfter = async (requests: number) => {
    for (let n = 0; n < requests; n++) await (await fetch(`${transformer.url}/health`)).text();
    Bun.gc(true);
    return heapStats().objectTypeCounts.Promise ?? 0;
  };
  await promisesAfter(100);
  const before = await promisesAfter(100);
  expect((await promisesAfter(1_000)) - before).toBeLessThan(500);
});

/** A transformer with a request in progress, whose run of user code lasts until `end` is called. */
async function withRequest() {
  const begun = Promise.withResolvers<void>();
  const { promise: wait, resolve: end } = Promise.withResolvers<void>();
  const run: Sandbox["run"] = async (...given) => {
    begun.resolve();
    await wait;
    return await outputs(...given);
  };
  const { publish, send, item, stop } = await freshTransformer({ sandbox: sandboxWith({ run }) });
  const { versionId } = await publish("transformation", "export const transformEvent = 1;");
  const sent = send([item(versionId, { n: 1 })]);
  await begun.promise;
  return { stop, sent, end };
}

test("a listener that stops answers the request in progress", async () => {
  const { stop, sent, end } = await withRequest();
  const stopped = stop();
  end();
  expect((await sent).status).toBe(200);
  await stopped;
});

test("a request that takes longer than a listener may take to stop is to be sent again", async () => {
  const { stop, sent, end } = await withRequest();
  const set = globalThis.setTimeout;
  const spy = spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) =>
    set(run, ms === DRAIN_MS_MAX ? 1 : ms)) as typeof setTimeout);
  const stopped = stop();
  spy.mockRestore();
  const { status, headers } = await sent;
  expect([status, headers.get("x-rudder-error-reason")]).toEqual([503, "stopping"]);
  await stopped;
  end();
});
