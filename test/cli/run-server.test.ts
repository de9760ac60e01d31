import { afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import { closeSync } from "node:fs";
import * as app from "../../src/app.ts";
import { planeAddresses } from "../../src/cli/server/plane-addresses.ts";
import { runServer } from "../../src/cli/server/run-server.ts";
import { stopSignal } from "../../src/cli/server/stop-signal.ts";
import { takeOverSocket } from "../../src/first-start/data-directory.ts";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import { SHUTDOWN_MS_MAX } from "../../src/settings/limits.ts";
import { LiveSettings } from "../../src/settings/live-settings.ts";
import { readSettings } from "../../src/settings/reader.ts";
import * as offers from "../../src/take-over/offer.ts";
import * as systemd from "../../src/take-over/systemd.ts";
import { listeningLogger } from "../log/support.ts";
import { holds, until } from "../until.ts";

/** The life of a server, whose parts are doubles: how it begins, hands over and ends. */

type Options = Parameters<typeof runServer>[0];
const flags = { data: "/data", port: "1", "admin-port": "2" };
const never = new Promise<never>(() => {});

/** Steps of the server, in the order in which it made them. */
let told: string[];
beforeEach(() => {
  told = [];
});
afterEach(() => void mock.restore());

/** Runs a server whose application closes as `close` does. */
function run(more: Partial<Options> = {}, close: () => Promise<void> = async () => {}) {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<"second signal">();
  const broken = Promise.withResolvers<string>();
  const asked = Promise.withResolvers<offers.Successor>();
  const held = openListeningSocket({ host: "127.0.0.1", port: 0 });
  const opened: app.AppOptions[] = [];
  const offered: offers.OfferOptions[] = [];
  const { logger, lines } = listeningLogger();
  spyOn(process.stdout, "write").mockImplementation((text) => {
    told.push(String(text).trimEnd());
    return true;
  });
  spyOn(systemd, "notifySystemd").mockImplementation((state) => void told.push(state));
  spyOn(app, "openApp").mockImplementation(async (_, options) => {
    opened.push(options);
    return {
      ...{ dataPlaneUrl: "http://a:1", controlPlaneUrl: "http://a:2", startMs: {} },
      ...{ transformerUrl: undefined, broken: broken.promise },
      sockets: () => ({ "data-plane": held }),
      close(how) {
        told.push(`close to ${how}`);
        return close();
      },
    };
  });
  spyOn(offers, "offerSockets").mockImplementation((options) => {
    offered.push(options);
    // Only the first application is asked for its sockets.
    const isFirst = offered.length === 1;
    return { asked: isFirst ? asked.promise : never, close: () => void told.push("offer closed") };
  });
  const settings = new LiveSettings(() => readSettings(flags, {}));
  const ended = runServer({
    ...{ settings, logger, stop: { first: first.promise, second: second.promise } },
    ...{ demo: true, sockets: {}, isActivated: false, taken: undefined, ...more },
  });
  const connect = () =>
    Bun.connect({ hostname: "127.0.0.1", port: held.port, socket: { data() {} } }).then((socket) =>
      socket.end(),
    );
  return {
    ...{ ended, opened, offered, lines, connect, held },
    signal: first.resolve,
    signalAgain: () => second.resolve("second signal"),
    break: broken.resolve,
    succeed(isServing: Promise<boolean>) {
      asked.resolve({ release: () => void told.push("released"), isServing });
    },
  };
}

const announced = [
  "data plane listening on http://a:1",
  "control plane listening on http://a:2",
  "READY=1",
];

test("a server tells where it listens, offers its sockets, and stops orderly at a signal", async () => {
  const { ended, signal, opened, offered, lines, connect } = run();
  await connect();
  signal("SIGTERM");
  expect(await ended).toBe(0);
  expect(told).toEqual([...announced, "offer closed", "STOPPING=1", "close to stop"]);
  expect(opened).toMatchObject([{ demo: true, sockets: {} }]);
  const { config } = readSettings(flags, {});
  expect(offered).toMatchObject([
    {
      path: takeOverSocket(config),
      refusal: undefined,
      settings: { "data-plane": { port: 1 }, "control-plane": { port: 2 } },
    },
  ]);
  expect(lines).toMatchObject([
    { msg: "serving", dataPlaneUrl: "http://a:1", controlPlaneUrl: "http://a:2" },
    { msg: "stopping", signal: "SIGTERM" },
    { msg: "stopped" },
  ]);
  await expect(connect()).rejects.toThrow();
});

test("a server that cannot continue ends with a failure and its reason", async () => {
  const server = run();
  server.break("The catalog is damaged");
  expect(await server.ended).toBe(1);
  expect(server.lines.slice(1)).toMatchObject([
    { level: 50, reason: "The catalog is damaged" },
    { level: 30, msg: "stopped" },
  ]);
});

test("a server whose stop takes too long, or is signalled again, ends with a failure", async () => {
  const hasty = run({}, () => never);
  hasty.signal("SIGTERM");
  hasty.signalAgain();
  expect(await hasty.ended).toBe(1);
  expect(hasty.lines.at(-1)).toMatchObject({ level: 50, reason: "second signal" });
  mock.restore();
  const sleep = spyOn(Bun, "sleep").mockResolvedValue();
  const slow = run({}, () => never);
  slow.signal("SIGTERM");
  expect(await slow.ended).toBe(1);
  expect(slow.lines.at(-1)).toMatchObject({ level: 50, reason: "late" });
  expect(sleep.mock.calls).toEqual([[SHUTDOWN_MS_MAX]]);
});

test("a server on sockets of systemd keeps them, and lets clients wait for the next one", async () => {
  const { ended, signal, offered } = run({ isActivated: true });
  expect(await until(() => offered[0]?.refusal)).toContain("systemctl restart");
  signal("SIGTERM");
  expect(await ended).toBe(0);
  expect(told.at(-1)).toBe("close to hand-over");
});

test("a server that is replaced closes before its successor begins, and ends once that serves", async () => {
  const serving = Promise.withResolvers<boolean>();
  const { ended, succeed, lines, opened, connect } = run();
  succeed(serving.promise);
  await until(() => told.includes("released"));
  expect(told).toEqual([...announced, "offer closed", "close to hand-over", "released"]);
  await connect();
  serving.resolve(true);
  expect(await ended).toBe(0);
  expect(lines.at(-1)!.msg).toBe("stopped, another server has taken over");
  expect(opened).toHaveLength(1);
  await expect(connect()).rejects.toThrow();
});

test("a server whose successor ends before it serves continues on its sockets, without the demo", async () => {
  const { ended, succeed, opened, held, signal, connect } = run();
  succeed(Promise.resolve(false));
  await until(() => opened.length === 2);
  expect(opened[1]).toMatchObject({ demo: false, sockets: { "data-plane": held } });
  await connect();
  signal("SIGINT");
  expect(await ended).toBe(0);
});

test("a signal ends a server that waits for its successor to serve", async () => {
  const { ended, succeed, signal } = run();
  succeed(never);
  await until(() => told.includes("released"));
  signal("SIGTERM");
  expect(await ended).toBe(0);
});

test("a server that cannot close in time does not let its successor begin", async () => {
  const { ended, succeed, signalAgain, lines, held } = run({}, () => never);
  succeed(never);
  signalAgain();
  expect(await ended).toBe(1);
  closeSync(held.fd);
  expect(told).not.toContain("released");
  expect(lines.at(-1)).toMatchObject({ level: 50, reason: "second signal" });
});

test("a successor opens once the running server has closed, and tells it when it serves", async () => {
  const closed = Promise.withResolvers<void>();
  const taken: Options["taken"] = {
    ...{ sockets: {}, version: "1", released: () => closed.promise },
    serving: () => void told.push("serving"),
  };
  const { ended, opened, signal } = run({ taken });
  await holds(5, () => expect(opened).toEqual([]));
  closed.resolve();
  await until(() => told.includes("serving"));
  expect(told).toEqual([...announced.slice(0, 2), "serving", "READY=1"]);
  signal("SIGTERM");
  expect(await ended).toBe(0);
});

test("a successor that is stopped while it waits opens nothing", async () => {
  const taken = { sockets: {}, version: "1", released: () => never, serving() {} };
  const { ended, opened, signal, held } = run({ taken });
  signal("SIGTERM");
  expect(await ended).toBe(0);
  closeSync(held.fd);
  expect(opened).toEqual([]);
});

test("addresses for a successor include the transformer's only where it listens", () => {
  const addresses = (more: object) =>
    planeAddresses(readSettings({ ...flags, ...more }, {}).config);
  const planes = {
    "data-plane": { host: "::1", port: 1 },
    "control-plane": { host: "::2", port: 2 },
  };
  const hosts = { host: "::1", "admin-host": "::2", "transformer-host": "::3" };
  expect(addresses(hosts)).toEqual(planes);
  expect(addresses({ ...hosts, "transformer-port": "3" })).toEqual({
    ...planes,
    transformer: { host: "::3", port: 3 },
  });
});

test.each([["SIGTERM"], ["SIGINT"]] as const)(
  "the first %s begins an orderly stop, and only the next signal ends it",
  async (name) => {
    const before = new Map(
      (["SIGTERM", "SIGINT"] as const).map((signal) => [signal, process.listeners(signal)]),
    );
    const added = (signal: "SIGTERM" | "SIGINT") =>
      process.listeners(signal).filter((it) => !before.get(signal)!.includes(it));
    const { first, second } = stopSignal();
    for (const listener of added(name)) listener(name);
    expect(await first).toBe(name);
    expect(await Promise.race([second, Promise.resolve("none")])).toBe("none");
    for (const listener of added("SIGINT")) listener("SIGINT");
    expect(await Promise.race([second, Promise.resolve("none")])).toBe("second signal");
    for (const signal of before.keys()) {
      for (const listener of added(signal)) process.off(signal, listener);
    }
  },
);
