import { afterEach, beforeEach, describe, expect, jest, spyOn, test } from "bun:test";
import { fstatSync } from "node:fs";
import { Registry } from "prom-client";
import { StartError } from "../../src/errors.ts";
import {
  INGEST_CLOSE_MS_MAX,
  INGEST_PULSE_MS,
  INGEST_PULSES_LATE_MAX,
  INGEST_PULSES_SLOW_MAX,
  INGEST_START_EXTENSIONS_MAX,
} from "../../src/ingest/limits.ts";
import {
  INGEST_SOCKET_FD,
  type IngestMessage,
  type ServerMessage,
} from "../../src/ingest/messages.ts";
import {
  INGEST_PULSES_MISSED_MAX,
  IngestProcess,
} from "../../src/ingest/supervisor/ingest-process.ts";
import { INGEST_START_MS_MAX } from "../../src/ingest/supervisor/start-limit.ts";
import {
  type IngestOptions,
  startIngestProcesses,
} from "../../src/ingest/supervisor/supervisor.ts";
import { KEPT_CONNECTIONS_MS, REQUEST_EXPECTED_MS } from "../../src/settings/limits.ts";
import { listeningLogger } from "../log/support.ts";

/** Id of no process, whose main thread therefore makes no progress. */
const NO_PID = 2 ** 22 + 1;
const NOT_WRITTEN = { failing: 0, writable: 0, faults: [] };
const settings = {
  index: 3,
  catalogDirectory: "/catalog",
  port: 80,
  trustedProxies: [],
  recordClientAddress: true,
  eventsPerSecondMax: 7,
  connectionsPerNetworkMax: 5,
  logLevel: "info",
};
const log = { kind: "partitions" as const, settings: {} };

/** A child process without a process: the test says what it does. */
class Child {
  readonly sent: ServerMessage[] = [];
  readonly signals: string[] = [];
  readonly #exited = Promise.withResolvers<void>();
  readonly exited = this.#exited.promise;
  exitCode: number | null = null;

  constructor(
    readonly pid: number,
    readonly options: { ipc(message: IngestMessage): void; stdio: unknown[] },
  ) {}

  send(message: ServerMessage) {
    this.sent.push(message);
  }

  kill(signal: string) {
    this.signals.push(signal);
  }

  says(...messages: IngestMessage[]) {
    for (const message of messages) this.options.ipc(message);
  }

  /** Ends, and lets its supervisor notice. */
  async exits(code = 1) {
    this.exitCode = code;
    this.#exited.resolve();
    await turn();
  }

  types() {
    return this.sent.map(({ type }) => type);
  }
}

let spawned: Child[];
let pid: number;
let spawn: ReturnType<typeof spyOn>;
let calls: unknown[][];
let lines: { msg: string }[];
let ingest: IngestProcess;

beforeEach(() => {
  jest.useFakeTimers();
  [spawned, calls, pid] = [[], [], NO_PID];
  spawn = spyOn(Bun, "spawn").mockImplementation(((_: string[], options: Child["options"]) => {
    spawned.push(new Child(pid, options));
    return spawned.at(-1);
  }) as never);
  const listening = listeningLogger();
  lines = listening.lines;
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args]);
  ingest = new IngestProcess({
    command: ["pixelmill", "ingest"],
    settings,
    socketFd: 42,
    logger: listening.logger,
    logs: {
      settings: () => log,
      opened: note("opened"),
      written: note("written"),
      missing: note("missing"),
    },
    onDeath: note("death"),
    onOutcomes: note("outcomes"),
  });
});

afterEach(() => {
  spawn.mockRestore();
  jest.useRealTimers();
});

/** Runs the callbacks of promises, which fake timers leave alone. */
async function turn() {
  for (let i = 0; i < 5; i++) await undefined;
}

/** Starts a process that listens. */
async function listen(): Promise<Child> {
  const started = ingest.start();
  const child = spawned[0]!;
  child.says({ type: "opened" });
  await started;
  const listening = ingest.listen();
  child.says({ type: "listening" });
  await listening;
  return child;
}

const advance = (ms: number) => jest.advanceTimersByTime(ms);
const pulses = (count: number) => advance(count * INGEST_PULSE_MS);

/** Milliseconds from now to the start of another process. */
function msToRestart(msMax: number): number | undefined {
  const before = spawned.length;
  for (let ms = 1; ms <= msMax; ms++) {
    advance(1);
    if (spawned.length > before) return ms;
  }
  return undefined;
}

describe("a start", () => {
  test("gives a process its socket and settings, and ends when its log is open", async () => {
    let isOpen = false;
    const started = ingest.start().then(() => {
      isOpen = true;
    });
    const [child] = spawned;
    expect(spawn.mock.calls[0]![0]).toEqual(["pixelmill", "ingest"]);
    expect(child!.options.stdio[INGEST_SOCKET_FD]).toBe(42);
    expect(child!.options.stdio.slice(0, 3)).toEqual(["ignore", "ignore", "inherit"]);
    expect(child!.options).toMatchObject({ serialization: "json" });
    expect(child!.sent).toEqual([{ type: "serve", ...settings, log }]);
    expect(ingest.pid()).toBe(NO_PID);
    await turn();
    expect(isOpen).toBe(false);
    child!.says({ type: "opened", durable: 9 });
    await started;
    expect(calls).toEqual([["opened", 3, 9]]);
    // It accepts no pixel before it is allowed to.
    expect(child!.types()).toEqual(["serve"]);
  });

  test("of a process whose log has no end of its own names none", async () => {
    const started = ingest.start();
    spawned[0]!.says({ type: "opened" });
    await started;
    expect(calls).toEqual([]);
  });

  test("is complete when the process listens, and only then is there no trouble", async () => {
    const started = ingest.start();
    const [child] = spawned;
    child!.says({ type: "opened" });
    await started;
    let isListening = false;
    const listening = ingest.listen().then(() => {
      isListening = true;
    });
    expect(child!.types()).toEqual(["serve", "listen"]);
    await turn();
    expect(isListening).toBe(false);
    const trouble = "Ingest process 3 is not running and is started again";
    expect(ingest.state()).toEqual({ trouble, log: NOT_WRITTEN });
    child!.says({ type: "listening" });
    await listening;
    expect(ingest.state()).toEqual({ trouble: undefined, log: NOT_WRITTEN });
    for (let ms = 0; ms < INGEST_START_MS_MAX; ms += INGEST_PULSE_MS) {
      child!.says({ type: "pulse", outcomes: { stored: 0, refused: 0 } });
      pulses(1);
    }
    expect(child!.signals).toEqual([]);
  });

  test.each([
    ["ends at once", [], "An ingest process ended before it listened"],
    ["says why it fails", [{ type: "failed", message: "No room" }], "No room"],
  ] as const)("of a process that %s fails, and is not repeated", async (_, messages, sentence) => {
    const started = ingest.start();
    spawned[0]!.says(...messages);
    await spawned[0]!.exits();
    await expect(started).rejects.toThrow(new StartError(sentence));
    await expect(ingest.listen()).rejects.toThrow(sentence);
    expect(ingest.pid()).toBeUndefined();
    expect(msToRestart(10_000)).toBeUndefined();
    expect([calls, lines]).toEqual([[], []]);
  });

  test("that the system refuses names its reason", async () => {
    spawn.mockImplementation(() => {
      throw new Error("Too many processes");
    });
    await expect(ingest.start()).rejects.toThrow(
      new StartError("Cannot start an ingest process: Too many processes"),
    );
    await ingest.close();
  });

  test("that takes too long without progress is ended", () => {
    void ingest.start();
    advance(INGEST_START_MS_MAX - 1);
    expect(spawned[0]!.signals).toEqual([]);
    advance(1);
    expect(spawned[0]!.signals).toEqual(["SIGKILL"]);
  });

  test("that makes progress gets more time, though not without end", () => {
    pid = process.pid;
    void ingest.start();
    advance(INGEST_START_MS_MAX * (INGEST_START_EXTENSIONS_MAX + 1) - 1);
    expect(spawned[0]!.signals).toEqual([]);
    advance(1);
    expect(spawned[0]!.signals).toEqual(["SIGKILL"]);
  });

  test("waits for the logs of other processes without a limit, and listens within one", async () => {
    const started = ingest.start();
    const [child] = spawned;
    child!.says({ type: "opened" });
    await started;
    advance(INGEST_START_MS_MAX);
    expect(child!.signals).toEqual([]);
    void ingest.listen();
    advance(INGEST_START_MS_MAX - 1);
    expect(child!.signals).toEqual([]);
    advance(1);
    expect(child!.signals).toEqual(["SIGKILL"]);
  });

  test("is not limited in time after its process has died", async () => {
    const started = ingest.start();
    await spawned[0]!.exits();
    await expect(started).rejects.toThrow();
    advance(INGEST_START_MS_MAX);
    expect(spawned[0]!.signals).toEqual([]);
  });
});

describe("a process that dies", () => {
  test("is started again, and listens without being asked", async () => {
    const child = await listen();
    child.says({ type: "health", health: { failing: 1, writable: 0, faults: ["full"] } });
    expect(ingest.state().log.faults).toEqual(["full"]);
    child.says({ type: "failed", message: "It broke" });
    await child.exits(7);
    expect(calls).toEqual([["death"]]);
    const context = { ingest: 3, pid: NO_PID, exitCode: 7, failure: "It broke", listened: true };
    const msg = "ingest process died and restarts";
    expect(lines).toMatchObject([{ ...context, delayMs: 50, msg }]);
    const trouble = "Ingest process 3 is not running and is started again";
    expect(ingest.state()).toEqual({ trouble, log: NOT_WRITTEN });
    expect(ingest.pid()).toBeUndefined();
    expect(msToRestart(1_000)).toBe(50);
    spawned[1]!.says({ type: "opened" });
    expect(spawned[1]!.types()).toEqual(["serve", "listen"]);
    spawned[1]!.says({ type: "listening" });
    expect(ingest.state().trouble).toBeUndefined();
  });

  test("soon after its start is started again later each time, and told as often", async () => {
    await (await listen()).exits();
    for (const ms of [50, 100, 200, 400]) {
      expect(msToRestart(1_000)).toBe(ms);
      await spawned.at(-1)!.exits();
    }
    expect(calls).toEqual([["death"], ["death"], ["death"], ["death"], ["death"]]);
    const listened = lines.map((line) => (line as unknown as { listened: boolean }).listened);
    expect(listened).toEqual([true, false, false, false, false]);
  });

  test("after a longer life is started again as soon as the first time", async () => {
    const clock = spyOn(performance, "now").mockReturnValue(100_000);
    try {
      await (await listen()).exits();
      advance(50);
      await spawned[1]!.exits();
      advance(100);
      clock.mockReturnValue(160_000);
      await spawned[2]!.exits();
    } finally {
      clock.mockRestore();
    }
    expect(lines).toMatchObject([{ delayMs: 50 }, { delayMs: 100 }, { delayMs: 50 }]);
  });

  test("is reported with its own failure, not with an earlier one", async () => {
    const child = await listen();
    child.says({ type: "failed", message: "It broke" });
    await child.exits();
    msToRestart(1_000);
    await spawned[1]!.exits();
    expect(lines).toMatchObject([{ failure: "It broke" }, { delayMs: 100 }]);
    expect(lines[1]).not.toHaveProperty("failure");
  });

  test("and that the system cannot start again is tried again", async () => {
    const child = await listen();
    spawn.mockImplementationOnce(() => {
      throw new Error("Too many processes");
    });
    await child.exits();
    advance(50);
    const failure = "Cannot start an ingest process: Too many processes";
    expect(lines.at(-1)).toMatchObject({ failure, delayMs: 100 });
    expect(msToRestart(1_000)).toBe(100);
  });

  test("while a message is sent to it causes no error", async () => {
    const child = await listen();
    child.send = () => {
      throw new Error("The channel is closed");
    };
    ingest.drain();
    ingest.configure(settings);
    await child.exits();
    expect(msToRestart(1_000)).toBe(50);
  });
});

describe("a process that sends no pulse", () => {
  test("is in trouble after some, and out of it with its next message", async () => {
    const child = await listen();
    pulses(INGEST_PULSES_LATE_MAX);
    expect(ingest.state().trouble).toBeUndefined();
    pulses(1);
    expect(ingest.state().trouble).toBe("Ingest process 3 has not responded for 4 s");
    child.says({ type: "durable", sequence: 1 });
    expect(ingest.state().trouble).toBeUndefined();
  });

  test("is killed after many, if it makes no progress", async () => {
    const child = await listen();
    pulses(INGEST_PULSES_MISSED_MAX);
    child.says({ type: "pulse", outcomes: { stored: 0, refused: 0 } });
    pulses(INGEST_PULSES_MISSED_MAX);
    expect([child.signals, lines]).toEqual([[], []]);
    pulses(1);
    expect(child.signals).toEqual(["SIGKILL"]);
    expect(lines).toMatchObject([
      { ingest: 3, pid: NO_PID, msg: "ingest process hangs and is killed" },
    ]);
  });

  test("counts as slow for longer, if it makes progress", async () => {
    pid = process.pid;
    const child = await listen();
    pulses(INGEST_PULSES_SLOW_MAX);
    expect(child.signals).toEqual([]);
    pulses(1);
    expect(child.signals).toEqual(["SIGKILL"]);
  });

  test("is not watched before it listens, nor after its death", async () => {
    void ingest.start();
    pulses(INGEST_PULSES_MISSED_MAX + 1);
    expect(spawned[0]!.signals).toEqual([]);
    spawned[0]!.says({ type: "listening" });
    await spawned[0]!.exits();
    advance(50);
    spawned[1]!.says({ type: "listening" });
    pulses(INGEST_PULSES_MISSED_MAX + 1);
    expect(spawned.map(({ signals }) => signals)).toEqual([[], ["SIGKILL"]]);
  });

  test("counts from 0 once it was started again", async () => {
    const child = await listen();
    pulses(INGEST_PULSES_LATE_MAX + 1);
    await child.exits();
    advance(50);
    spawned[1]!.says({ type: "listening" });
    expect(ingest.state().trouble).toBeUndefined();
  });
});

test("what a process reports reaches the server", async () => {
  const child = await listen();
  const outcomes = { stored: 2, refused: 1 };
  child.says({ type: "durable", sequence: 8, sources: ["a"] });
  child.says({ type: "durable", sequence: 9 });
  child.says({ type: "missing", from: 1, to: 4 });
  child.says({ type: "pulse", outcomes, received: [["a", 2]] });
  child.says({ type: "pulse", outcomes });
  expect(calls).toEqual([
    ["written", 3, 8, ["a"]],
    ["written", 3, 9, undefined],
    ["missing", 3, { type: "missing", from: 1, to: 4 }],
    ["outcomes", outcomes, [["a", 2]]],
    ["outcomes", outcomes, []],
  ]);
});

test("changed settings reach the process and those after it", async () => {
  const child = await listen();
  const changed = { eventsPerSecondMax: 1, connectionsPerNetworkMax: 2, logLevel: "error" };
  ingest.configure(changed);
  ingest.drain();
  expect(child.sent.slice(2)).toEqual([{ type: "configure", ...changed }, { type: "drain" }]);
  await child.exits();
  advance(50);
  expect(spawned[1]!.sent).toEqual([{ type: "serve", ...settings, ...changed, log }]);
});

describe("metrics", () => {
  const metrics = [{ name: "one" }] as never[];

  test("are those of the answer with the same number", async () => {
    const child = await listen();
    const [first, second] = [ingest.metrics(), ingest.metrics()];
    expect(child.types().slice(2)).toEqual(["metrics", "metrics"]);
    const ids = child.sent.slice(2).map((message) => (message as { id: number }).id);
    expect(new Set(ids).size).toBe(2);
    child.says({ type: "metrics", id: ids[1]!, metrics });
    child.says({ type: "metrics", id: ids[0]!, metrics: [] });
    expect([await first, await second]).toEqual([[], metrics]);
    // An answer after its request has ended.
    child.says({ type: "metrics", id: ids[0]!, metrics });
  });

  test("of a process that does not listen are none, and are not asked for", async () => {
    void ingest.start();
    expect(await ingest.metrics()).toEqual([]);
    expect(spawned[0]!.types()).toEqual(["serve"]);
  });

  test("that come too late are none", async () => {
    await listen();
    const sleep = spyOn(Bun, "sleep").mockImplementation(async () => {});
    try {
      expect(await ingest.metrics()).toEqual([]);
    } finally {
      sleep.mockRestore();
    }
  });
});

describe("a close", () => {
  test("asks the process to end, and starts none after it", async () => {
    const child = await listen();
    let isClosed = false;
    const closed = ingest.close().then(() => {
      isClosed = true;
    });
    expect(child.types().at(-1)).toBe("close");
    advance(INGEST_CLOSE_MS_MAX - 1);
    await turn();
    expect([isClosed, child.signals]).toEqual([false, []]);
    await child.exits(0);
    await closed;
    advance(INGEST_CLOSE_MS_MAX);
    expect([child.signals, calls, lines, spawned.length]).toEqual([[], [], [], 1]);
  });

  test("ends a process that takes too long", async () => {
    const child = await listen();
    const closed = ingest.close();
    advance(INGEST_CLOSE_MS_MAX);
    expect(child.signals).toEqual(["SIGKILL"]);
    await child.exits();
    await closed;
  });

  test("between a death and the next start prevents the start", async () => {
    await (await listen()).exits();
    await ingest.close();
    expect(msToRestart(1_000)).toBeUndefined();
  });
});

describe("the ingest processes of a server", () => {
  const { index: _, ...shared } = settings;

  /** Begins to start two processes; the test then says what they do. */
  async function begin(more: Partial<IngestOptions> = {}) {
    const starting = startIngestProcesses({
      ...{ ...shared, host: "127.0.0.1", port: 0, count: 2, command: ["pixelmill", "ingest"] },
      ...{ logs: { settings: () => log }, logger: listeningLogger().logger },
      ...more,
    });
    await turn();
    // The promise itself would be awaited.
    return { starting };
  }

  async function startAll(more: Partial<IngestOptions> = {}) {
    const { starting } = await begin(more);
    for (const message of ["opened", "listening"] as const) {
      for (const child of spawned) child.says({ type: message });
      await turn();
    }
    return await starting;
  }

  test("share the rate and a socket, and get each change and stop once", async () => {
    const ingest = await startAll({ eventsPerSecondMax: 10 });
    const { fd, port } = ingest.socket;
    expect(ingest.url).toBe(`http://127.0.0.1:${port}`);
    expect(ingest.pids()).toEqual([NO_PID, NO_PID]);
    expect(spawned.map(({ options }) => options.stdio[INGEST_SOCKET_FD])).toEqual([fd, fd]);
    const given = { ...shared, port, eventsPerSecondMax: 5 };
    expect(spawned.map(({ sent }) => sent[0] as unknown)).toMatchObject([
      { type: "serve", ...given, index: 0 },
      { type: "serve", ...given, index: 1 },
    ]);
    const changed = { eventsPerSecondMax: 3, connectionsPerNetworkMax: 2, logLevel: "error" };
    ingest.configure(changed);
    const configured = { type: "configure", ...changed, eventsPerSecondMax: 1.5 };
    for (const { sent } of spawned) expect(sent.at(-1) as unknown).toEqual(configured);
    const sleep = spyOn(Bun, "sleep").mockImplementation(async () => {});
    await ingest.drain();
    expect(sleep.mock.calls).toEqual([[KEPT_CONNECTIONS_MS + REQUEST_EXPECTED_MS]]);
    sleep.mockRestore();
    expect(fstatSync(fd).isSocket()).toBe(true);
    const stopped = [ingest.stop(), ingest.stop()];
    expect(() => fstatSync(fd)).toThrow("EBADF");
    const orders = ["serve", "listen", "configure", "drain", "close"];
    for (const child of spawned) expect(child.types() as string[]).toEqual(orders);
    for (const child of spawned) await child.exits(0);
    await Promise.all(stopped);
  });

  test("that speak TLS have a URL of TLS", async () => {
    const tls = { cert: "certificate", key: "key" };
    const ingest = await startAll({ tls });
    expect(ingest.url).toBe(`https://127.0.0.1:${ingest.socket.port}`);
    expect(spawned[1]!.sent[0] as unknown).toMatchObject({ type: "serve", tls });
    const stopped = ingest.stop();
    for (const child of spawned) await child.exits(0);
    await stopped;
  });

  test("report their events and deaths, and their health is judged together", async () => {
    const received: unknown[] = [];
    const metrics = new Registry();
    const ingest = await startAll({
      metrics,
      onReceived: (sourceId, count) => received.push([sourceId, count]),
    });
    expect(ingest.health()).toEqual({ trouble: undefined, warnings: [] });
    const [first, second] = spawned as [Child, Child];
    const health = { failing: 1, writable: 0, faults: ["Full"] };
    first.says({ type: "health", health });
    second.says({ type: "health", health: { failing: 0, writable: 1, faults: [] } });
    expect(ingest.health()).toEqual({ trouble: undefined, warnings: ["Full"] });
    const outcomes = { stored: 10, refused: 30 };
    first.says({ type: "pulse", outcomes, received: [["s", 4]] });
    second.says({ type: "pulse", outcomes, received: [["s", 6]] });
    expect(received).toEqual([
      ["s", 4],
      ["s", 6],
    ]);
    const refused = "60 of 80 events of the last minute were refused with 503";
    expect(ingest.health().trouble).toBe(`${refused}; Full`);
    await second.exits();
    expect(ingest.health().trouble).toStartWith("Ingest process 1 is not running");
    expect(ingest.pids()).toEqual([NO_PID]);
    const deaths = await metrics.getSingleMetric("pixelmill_ingest_deaths_total")!.get();
    expect(deaths.values.map(({ value }) => value)).toEqual([1]);
    const stopped = ingest.stop();
    await first.exits(0);
    await stopped;
  });

  test("are ended when one of them cannot start", async () => {
    const { starting } = await begin();
    const failure = starting.catch((error) => error);
    const [first, second] = spawned as [Child, Child];
    first.says({ type: "opened" });
    second.says({ type: "failed", message: "No room" });
    await second.exits();
    await turn();
    expect(first.types()).toEqual(["serve", "close"]);
    await first.exits(0);
    expect(await failure).toEqual(new StartError("No room"));
  });
});
