import { afterAll, afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as archives from "../../src/backup/archive-source.ts";
import * as backups from "../../src/backup/verify.ts";
import * as checks from "../../src/check/check.ts";
import type { CheckResult } from "../../src/check/check-result.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { start } from "./in-process.ts";

/** Data directory with the control socket of a running server. */
const data = temporaryDirectory();
const requests: string[] = [];
let answer = () => Response.json([]);
let health = 200;

const control = Bun.serve({
  unix: join(data, "control.sock"),
  fetch(request) {
    requests.push(`${request.method} ${new URL(request.url).pathname}`);
    return answer();
  },
});
const dataPlane = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ url }) => new Response("", { status: url.endsWith("/health") ? health : 404 }),
});
afterAll(() => {
  for (const it of [control, dataPlane]) void it.stop(true);
  removeDirectory(data);
});
afterEach(() => void mock.restore());
beforeEach(() => {
  requests.length = 0;
  answer = () => Response.json([]);
  health = 200;
});

async function run(args: string[], directory = data) {
  const { ended, output, errors } = start([...args, "--data", directory]);
  return { code: await ended, output: output.text, errors: errors.text };
}

test("reload prints what has changed, and what takes a restart", async () => {
  answer = () => Response.json({ changed: ["log.level", "x"], needRestart: ["port", "host"] });
  expect(await run(["reload"])).toEqual({
    code: 0,
    output: "reloaded: changed log.level, x\nthese take a restart: port, host\n",
    errors: "",
  });
  expect(requests).toEqual(["POST /reload"]);
  answer = () => Response.json({ changed: [], needRestart: [] });
  expect((await run(["reload"])).output).toBe("reloaded: no setting has changed\n");
  answer = () => Response.json({ message: "Setting port must be" }, { status: 400 });
  const { code, errors } = await run(["reload"]);
  expect([code, errors]).toEqual([1, "pixelmill: Setting port must be\n"]);
});

test("a command for a running server names the data directory without one", async () => {
  for (const [args, reason] of [
    [["reload"], "none answers there"],
    [["config", "--running"], "none answers there"],
    [["check", "health"], "none answers there"],
  ] as const) {
    const { code, errors } = await run([...args], join(data, "none"));
    const sentence = `pixelmill: Expected a running server of ${join(data, "none")}: ${reason}\n`;
    expect([code, errors]).toEqual([1, sentence]);
  }
});

test("config --running prints the settings of the server", async () => {
  const settings = [{ key: "port", value: 8080, source: "default" }];
  answer = () => Response.json(settings);
  const { output } = await run(["config", "--running", "--json"]);
  expect(output).toBe(`${JSON.stringify(settings, null, 2)}\n`);
  expect(requests).toEqual(["GET /settings"]);
});

test.each(["127.0.0.1", "0.0.0.0"])(
  "check health asks the control socket, and the data plane at %s",
  async (host) => {
    const flags = ["--host", host, "--port", String(dataPlane.port)];
    const healthy = await run(["check", "health", ...flags]);
    expect(healthy).toEqual({ code: 0, output: "healthy\n", errors: "" });
    expect(requests).toEqual(["GET /settings"]);
    health = 503;
    const { code, errors } = await run(["check", "health", ...flags]);
    const url = `http://127.0.0.1:${dataPlane.port}/health`;
    const sentence = `pixelmill: Expected the data plane to answer at ${url}: it answers 503\n`;
    expect([code, errors]).toEqual([1, sentence]);
  },
);

test.each([
  ["::", "[::1]"],
  ["::1", "[::1]"],
])("check health asks for the address %s at %s", async (host, shown) => {
  const { code, errors } = await run(["check", "health", "--host", host, "--port", "1"]);
  expect(code).toBe(1);
  expect(errors).toContain(`Expected the data plane to answer at http://${shown}:1/health: `);
});

test("check prints a line for each result, and exits with 1 when a server would not work", async () => {
  const results: CheckResult[] = [{ state: "ok", subject: "data", detail: "/d is new" }];
  spyOn(checks, "check").mockImplementation(async function* () {
    yield* results;
  });
  results.push({ state: "warns", subject: "disk speed", detail: "slow" });
  const lines = "ok    data: /d is new\nwarns disk speed: slow\n";
  expect(await run(["check"])).toEqual({ code: 0, output: lines, errors: "" });
  results.unshift({ state: "fails", subject: "ports", detail: "taken" });
  const more = `fails ports: taken\n${lines}`;
  expect(await run(["check"])).toEqual({ code: 1, output: more, errors: "" });
});

test("check backup reads a backup in a directory that it removes, and names what it holds", async () => {
  let closed = 0;
  let name = "a.tar.zst";
  const archive = () => ({ name, close: () => void closed++ });
  spyOn(archives, "archiveSource").mockImplementation(async () => archive() as never);
  const unpacked: string[] = [];
  const contents = { workspaces: 1, records: 2, deadLetters: 3, warnings: ["one is torn"] };
  const verify = spyOn(backups, "verify").mockImplementation(async (_, directory) => {
    expect(existsSync(directory)).toBe(true);
    unpacked.push(directory);
    return contents as never;
  });
  const place = ["--directory", data];
  const held = "workspaces: 1, events in the log: 2, dead letters: 3\nwarns one is torn\n";
  const { code, output } = await run(["check", "backup", "b.tar.zst", ...place]);
  expect([code, output]).toEqual([0, `ok    backup b.tar.zst: ${held}`]);
  name = "s3://bucket/newest";
  const newest = await run(["check", "backup", "s3://bucket/", ...place]);
  expect(newest.output).toBe(`ok    backup s3://bucket/newest: ${held}`);
  verify.mockImplementation(async (_, directory) => {
    unpacked.push(directory);
    throw Object.assign(new Error("It is torn"), { syscall: "read", code: "EIO" });
  });
  const torn = await run(["check", "backup", "b.tar.zst", ...place]);
  expect([torn.code, torn.errors]).toEqual([1, "pixelmill: It is torn\n"]);
  expect(closed).toBe(3);
  expect(unpacked).toHaveLength(3);
  for (const directory of unpacked) {
    expect(directory).toStartWith(join(data, "pixelmill-check-"));
    expect(existsSync(directory)).toBe(false);
  }
});
