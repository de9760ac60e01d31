import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { openControlSocket } from "../../src/backend/reloadable/control-socket.ts";
import { controlSocket } from "../../src/first-start/data-directory.ts";
import { StartSteps } from "../../src/observe/start-steps.ts";
import { isReloadable, keys } from "../../src/settings/keys.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { listeningLogger } from "../log/support.ts";

const data = mkdtempSync(join(tmpdir(), "pixelmill-control-"));
afterAll(() => rmSync(data, { recursive: true }));

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

/** Opens a control socket, with one part that takes all settings and may refuse them. */
function open(flags: Record<string, string>, prepare = () => () => {}) {
  const settings = new LiveSettings(() => readSettings(flags, {}));
  settings.add({ keys: keys.filter(isReloadable), prepare });
  const { logger, lines } = listeningLogger();
  const metrics = new Registry();
  openControlSocket({
    config: settings.config,
    ...{ settings, logger, metrics, stack, steps: new StartSteps(logger) },
    requestStop() {},
  });
  const unix = controlSocket(settings.config);
  return {
    lines,
    ask: (path: string, method = "GET") => fetch(`http://server${path}`, { method, unix }),
    async reloads(result: string) {
      const { values } = await metrics.getSingleMetric("pixelmill_settings_reloads_total")!.get();
      return values.find(({ labels }) => labels.result === result)?.value;
    },
  };
}

test("a reload by the command takes new settings, and says which need a restart", async () => {
  const flags: Record<string, string> = { data };
  const { ask, lines, reloads } = open(flags);
  expect([await reloads("ok"), await reloads("failed")]).toEqual([0, 0]);
  Object.assign(flags, { "log-level": "debug", port: "1234" });
  const response = await ask("/reload", "POST");
  expect(response.status).toBe(200);
  const result = { changed: ["log.level"], needRestart: ["port"] };
  expect(await response.json()).toEqual(result);
  expect(lines).toMatchObject([{ level: 30, by: "command", ...result, msg: "settings reloaded" }]);
  expect([await reloads("ok"), await reloads("failed")]).toEqual([1, 0]);
  const report = await (await ask("/settings")).json();
  expect(report).toContainEqual(expect.objectContaining({ key: "log.level", value: "debug" }));
});

test("SIGHUP reloads the settings until the server stops", async () => {
  const others = process.listeners("SIGHUP").length;
  const { lines } = open({ data });
  process.emit("SIGHUP");
  expect(lines).toMatchObject([{ by: "SIGHUP", msg: "settings reloaded" }]);
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
  expect(process.listeners("SIGHUP")).toHaveLength(others);
});

test("settings that cannot be used change nothing, and the answer says why", async () => {
  const flags: Record<string, string> = { data };
  const { ask, lines, reloads } = open(flags);
  flags["log-level"] = "loud";
  const response = await ask("/reload", "POST");
  expect(response.status).toBe(422);
  const { message } = (await response.json()) as { message: string };
  expect(message).toContain("loud");
  expect(lines).toMatchObject([
    {
      level: 50,
      by: "command",
      reason: message,
      msg: "settings not reloaded, nothing has changed",
    },
  ]);
  expect([await reloads("ok"), await reloads("failed")]).toEqual([0, 1]);
});

test("a defect in a reload is logged with its stack", async () => {
  const { ask, lines } = open({ data }, () => {
    throw new TypeError("a defect");
  });
  expect((await ask("/reload", "POST")).status).toBe(422);
  expect(lines).toMatchObject([{ err: { message: "a defect", stack: expect.any(String) } }]);
});

test("another request is answered with the ones that the control socket knows", async () => {
  const { ask } = open({ data });
  for (const [path, method] of [
    ["/reload"],
    ["/settings", "POST"],
    ["/", "POST"],
    ["/"],
  ] as const) {
    const response = await ask(path, method);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      message: "Expected POST /reload or GET /settings",
    });
  }
});

test("the socket of a killed server is replaced", async () => {
  writeFileSync(controlSocket(readSettings({ data }, {}).config), "");
  expect((await open({ data }).ask("/settings")).status).toBe(200);
});

test("a server that cannot listen continues without a control socket", () => {
  const { lines } = open({ data: join(data, "missing") });
  expect(lines).toMatchObject([
    {
      level: 40,
      path: expect.stringContaining("missing"),
      msg: "no control socket: only SIGHUP reloads the settings",
    },
  ]);
});
