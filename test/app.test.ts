import { afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { type AppOptions, openApp } from "../src/app.ts";
import * as alerts from "../src/backend/open-parts.ts";
import * as listening from "../src/backend/reloadable/start-api.ts";
import {
  controlSocket,
  holdFile,
  isDataLocked,
  prepareDataDirectory,
} from "../src/first-start/data-directory.ts";
import * as demo from "../src/first-start/demo.ts";
import * as beginning from "../src/first-start/first-workspace.ts";
import { openListeningSocket } from "../src/http/listening-socket.ts";
import * as supervisor from "../src/ingest/supervisor/supervisor.ts";
import * as guestSandbox from "../src/sandbox/guest-sandbox.ts";
import { LiveSettings } from "../src/settings/live-settings.ts";
import { readSettings } from "../src/settings/reader.ts";
import { closeSockets } from "../src/take-over/messages.ts";
import { removeDirectory, temporaryDirectory } from "./e2e/server.ts";
import { listeningLogger } from "./log/support.ts";

/** A whole server in this process, without ingest processes and guests. */

let data: string;
let told: string[];
let printed: string[];
let lines: ReturnType<typeof listeningLogger>["lines"];
const ADMIN_TOKEN = `pm_${"a".repeat(40)}`;

beforeEach(() => {
  data = temporaryDirectory();
  told = [];
  printed = [];
  const tell = (what: string) => async () => void told.push(what);
  spyOn(supervisor, "startIngestProcesses").mockImplementation(async ({ port }) => ({
    ...{ url: "http://0.0.0.0:81", socket: openListeningSocket({ host: "127.0.0.1", port }) },
    ...{ health: () => ({ trouble: undefined, warnings: [] }), pids: () => [], configure() {} },
    ...{ metrics: async () => [], drain: tell("drain"), stop: tell("stop pixels") },
  }));
  spyOn(guestSandbox, "createSandbox").mockReturnValue({
    ...{ suspended: () => [], slow: () => [], guestCounts: () => ({ alive: 3, awaited: 1 }) },
    ...{ status: () => ({ state: "ready", insecure: false }), close: tell("close the sandbox") },
  } as never);
});
afterEach(() => {
  mock.restore();
  removeDirectory(data);
});

function settingsOf(flags: Record<string, string> = {}): LiveSettings {
  const ports = { data, port: "0", "admin-port": "0", "admin-token": ADMIN_TOKEN };
  return new LiveSettings(() => readSettings({ ...ports, ...flags }, {}));
}

function open(settings: LiveSettings, more: Partial<AppOptions> = {}) {
  const { logger, lines: logged } = listeningLogger();
  lines = logged;
  const print = (line: string) => void printed.push(line);
  return openApp(settings, { demo: false, logger, print, ...more });
}

/**
 * Notes when the control plane begins to listen and when the first workspace is there, and the
 * console's URL for links in alerts.
 */
function watchStart() {
  const listens = spyOn(listening, "startApi");
  const begins = spyOn(beginning, "firstWorkspace");
  const opens = spyOn(alerts, "openAlerts");
  return {
    listensFirst: () => listens.mock.invocationCallOrder[0]! < begins.mock.invocationCallOrder[0]!,
    consoleUrl: () => opens.mock.lastCall![2](),
  };
}

async function ask(app: { controlPlaneUrl: string }, path: string, token = ADMIN_TOKEN) {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(`${app.controlPlaneUrl}${path}`, { headers });
  const text = await response.text();
  const policy = response.headers.get("content-security-policy");
  return { status: response.status, text, policy, json: () => JSON.parse(text) };
}

test("a server answers what its parts know, until it is stopped in the order of its parts", async () => {
  const settings = settingsOf({
    ...{ "events-retention-age": "7200", "events-retention-bytes": "5000000000" },
    ...{ "admin-hosts": "console.test", "api-headers": "clear" },
  });
  const start = watchStart();
  const app = await open(settings);
  expect(start.listensFirst()).toBe(true);
  expect(start.consoleUrl()).toBe(app.controlPlaneUrl);
  expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  expect(existsSync(controlSocket(settings.config))).toBe(true);
  expect([app.dataPlaneUrl, app.transformerUrl, printed]).toEqual([
    ...["http://0.0.0.0:81", undefined, []],
  ]);
  expect(Object.keys(app.startMs)).toEqual(
    expect.arrayContaining(["start the ingest processes", "look for the first workspace"]),
  );
  const ready = await ask(app, "/ready", "");
  expect([ready.status, ready.json()]).toMatchObject([
    200,
    { ready: true, checks: { ingest: { ok: true }, delivery: { ok: true } }, warnings: [] },
  ]);
  expect((await ask(app, "/v2/system")).json()).toMatchObject({
    guests: { alive: 3, awaited: 1, suspended: 0 },
    events: { retention: { seconds: 7_200, bytes: 5_000_000_000 } },
  });
  const { text: metrics } = await ask(app, "/metrics");
  for (const name of ["disk_reserve_bytes", "tls_failed_handshakes_total", "lane_lag_seconds"]) {
    expect(metrics).toContain(`pixelmill_${name}`);
  }
  expect((await ask(app, "/docs")).policy).toContain("http://localhost:81");
  const sockets = app.sockets();
  expect(Object.keys(sockets)).toEqual(["data-plane", "control-plane"]);
  closeSockets(sockets);
  settings.expectComplete();
  expect(isDataLocked(settings.config)).toBe(true);
  await app.close();
  expect(told).toEqual(["stop pixels", "stop pixels", "close the sandbox"]);
  expect(isDataLocked(settings.config)).toBe(false);
  // A server that opens again adds its parts again.
  expect(() => settings.expectComplete()).toThrow();
  await expect(fetch(`${app.controlPlaneUrl}/ready`)).rejects.toThrow();
});

test("a server that hands over takes pixels until its deliveries have stopped", async () => {
  const handed = openListeningSocket({ host: "127.0.0.1", port: 0 });
  const show = spyOn(demo, "showDemo").mockResolvedValue();
  const settings = settingsOf({
    ...{ "transformer-port": "0", "sandbox-insecure": "true" },
    ...{ "public-url": "https://pixels.test", "admin-url": "https://console.test/" },
  });
  prepareDataDirectory(settings.config);
  writeFileSync(holdFile(settings.config), "");
  const start = watchStart();
  const app = await open(settings, { demo: true, sockets: { "control-plane": handed } });
  expect(app.controlPlaneUrl).toEndWith(`:${handed.port}`);
  expect(start.listensFirst()).toBe(false);
  expect(start.consoleUrl()).toBe("https://console.test");
  expect(lines.map(({ msg }) => msg)).toEqual([
    "User code may run although it is not confined (sandbox.insecure)",
    "Deliveries are held until `pixelmill release` is called for this data directory",
  ]);
  const [, workspace, shown] = show.mock.lastCall!;
  expect([workspace.name, shown.dataPlaneUrl]).toEqual(["Demo", "http://0.0.0.0:81"]);
  expect((await ask(app, "/docs")).policy).toContain("https://pixels.test");
  const transformer = await fetch(`${app.transformerUrl}/health`);
  expect(transformer.status).toBe(200);
  const sockets = app.sockets();
  expect(Object.keys(sockets)).toEqual(["data-plane", "control-plane", "transformer"]);
  closeSockets(sockets);
  await app.close("hand-over");
  expect(told).toEqual(["drain", "stop pixels", "close the sandbox"]);
});

test("a new server without a token of the settings prints one once", async () => {
  const flags = { data, port: "0", "admin-port": "0" };
  const settings = () => new LiveSettings(() => readSettings(flags, {}));
  const app = await open(settings());
  const [, token] = /^admin token (pm_\w+) \(shown this once\)$/.exec(printed.join("\n"))!;
  expect((await ask(app, "/v2/workspace", token)).json()).toMatchObject({
    workspace: { name: "Main" },
  });
  await app.close();
  await (await open(settings())).close();
  expect(printed).toHaveLength(1);
});

test("a start that fails closes the parts that were open, and prints no token", async () => {
  const fail = new Error("Cannot listen on port 80");
  spyOn(supervisor, "startIngestProcesses").mockRejectedValue(fail);
  const settings = settingsOf();
  await expect(open(settings)).rejects.toBe(fail);
  expect([told, printed]).toEqual([["close the sandbox"], []]);
  expect(isDataLocked(settings.config)).toBe(false);
});
