import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import * as servers from "../../src/cli/server/run-server.ts";
import {
  acquireDataLock,
  formatFile,
  takeOverSocket,
} from "../../src/first-start/data-directory.ts";
import * as log from "../../src/observe/log.ts";
import { readSettings } from "../../src/settings/reader.ts";
import type { PlaneSockets } from "../../src/take-over/messages.ts";
import * as systemd from "../../src/take-over/systemd.ts";
import * as takeOvers from "../../src/take-over/take-over.ts";
import { version } from "../../src/version.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";
import { listeningLogger } from "../log/support.ts";
import { start } from "./in-process.ts";

/** Decisions of the command `serve` before it starts the server. */

const signals = ["SIGHUP", "SIGUSR1", "SIGUSR2"] as const;
const data = temporaryDirectory();
const { config } = readSettings({ data }, {});
afterEach(() => {
  mock.restore();
  removeDirectory(data);
});

/**
 * Runs `serve` with a server that ends with 7, up to its beginning. `running` is the server that
 * hands its sockets over, and `activated` the sockets that systemd has opened.
 */
async function serve(
  args: string[],
  { running, activated = {} }: { running?: takeOvers.TakeOver; activated?: PlaneSockets } = {},
) {
  const { logger, lines } = listeningLogger();
  const level = spyOn(log, "createLogger").mockReturnValue(logger as never);
  spyOn(systemd, "activatedSockets").mockReturnValue(activated);
  const takeOver = spyOn(takeOvers, "takeOver").mockResolvedValue(running);
  const runServer = spyOn(servers, "runServer").mockImplementation(async () => 7);
  const before = new Map(signals.map((signal) => [signal, process.listeners(signal)]));
  const { ended, errors } = start(["serve", "--data", data, ...args]);
  const code = await ended;
  const ignored: string[] = [];
  for (const signal of signals) {
    const added = process.listeners(signal).filter((it) => !before.get(signal)!.includes(it));
    for (const listener of added) {
      listener(signal);
      ignored.push(signal);
      process.off(signal, listener);
    }
  }
  const options = runServer.mock.lastCall?.[0];
  return {
    ...{ code, errors: errors.text, lines, options, ignored, asked: takeOver.mock.calls },
    level: level.mock.lastCall?.[0],
  };
}

const messages = (lines: { msg: string }[]) => lines.map(({ msg }) => msg);

test("a server begins with its settings, and survives the signals of terminals and of log rotation", async () => {
  const { code, level, lines, options, ignored, asked } = await serve([
    "--port",
    "81",
    "--log-level=warn",
  ]);
  expect([code, level, asked]).toEqual([7, "warn", []]);
  expect(ignored).toEqual(["SIGHUP", "SIGUSR1", "SIGUSR2"]);
  const { settings, ...others } = options!;
  expect([settings.config.port, settings.config.data]).toEqual([81, data]);
  expect(others).toMatchObject({ demo: false, isActivated: false, sockets: {}, taken: undefined });
  expect(lines).toMatchObject([
    { msg: "starting", version, settings: { port: 81 } },
    { msg: "signal ignored", signal: "SIGUSR1" },
    { msg: "signal ignored", signal: "SIGUSR2" },
  ]);
  expect((await serve(["--demo"])).options).toMatchObject({ demo: true });
});

test.each(["--request-ip=false", "--request-ip false", "--no-request-ip"])(
  "%s turns off a setting that is on by default",
  async (flag) => {
    // A boolean flag does not take the next argument as its value.
    const { options } = await serve(["--sandbox-insecure", ...flag.split(" ")]);
    const off = { "request.ip": false, "sandbox.insecure": true };
    expect(options!.settings.config).toMatchObject(off);
  },
);

test("a server takes the sockets of systemd before those of the running server", async () => {
  const [own, handed] = [
    { fd: 5, port: 1 },
    { fd: 6, port: 2 },
  ];
  const activated = { "data-plane": own };
  const alone = await serve([], { activated });
  expect(alone.options).toMatchObject({ isActivated: true, sockets: activated, taken: undefined });
  const running = {
    ...{ version: "0.9", released: async () => {}, serving() {} },
    sockets: { "data-plane": handed, "control-plane": handed },
  };
  const { options, asked, lines } = await serve(["--take-over"], { running, activated });
  const sockets = { "data-plane": own, "control-plane": handed };
  expect(options).toMatchObject({ isActivated: true, sockets, taken: running });
  expect(asked).toMatchObject([
    [{ path: takeOverSocket(config), version, settings: { "data-plane": { port: 8080 } } }],
  ]);
  expect(lines[1]).toMatchObject({ msg: expect.stringContaining("taken over"), from: "0.9" });
});

test("a take-over prepares the data directory, and says whether a server runs there", async () => {
  const none = await serve(["--take-over"]);
  expect(none.options).toMatchObject({ isActivated: false, taken: undefined });
  expect(messages(none.lines)).toContain("no server to take over from");
  expect(existsSync(formatFile(config))).toBe(true);
  const release = await acquireDataLock(config);
  const { lines } = await serve(["--take-over"]);
  release();
  expect(lines[1]).toMatchObject({ level: 40, msg: expect.stringContaining("stop it, this one") });
});

test("a server that cannot use the data directory takes nothing over", async () => {
  mkdirSync(join(data, "cluster"), { recursive: true });
  const { code, errors, options, asked } = await serve(["--take-over"]);
  expect([code, options, asked]).toEqual([1, undefined, []]);
  expect(errors).toContain("Expected the setting cluster.kafka");
});

test("a server runs only where the system can confine user code", async () => {
  const { platform } = process;
  Object.defineProperty(process, "platform", { value: "darwin" });
  const { code, errors, options } = await serve([]);
  Object.defineProperty(process, "platform", { value: platform });
  expect([code, options]).toEqual([1, undefined]);
  expect(errors).toContain("pixelmill runs only on Linux, this is darwin");
});
