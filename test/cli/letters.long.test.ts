import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "../e2e/server.ts";
import { type Client, inTerminal, obeyedControls, pipedTo, widestLine } from "./command.ts";

/** A name that would change a terminal's screen. */
const EVIL = "\x1b[2J\u202eevil";

/** Sequences by which `top` changes the screen, clears and hides the cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const MOVES = /\x1b\[(\?\d+[hl]|[KJ])/g;

let server: Server;
let client: Client;
let writeKey: string;
let status = 400;
const sink = startSink(() => status);

beforeAll(async () => {
  server = await startServer();
  client = pipedTo(server);
  writeKey = (await route(server, { url: sink.url })).writeKey;
});
afterAll(async () => {
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
});

const total = async () => (await server.api("GET", "/v2/dead-letters?count=1")).body.paging.total;

/** Three dead letters, and no others. */
beforeEach(async () => {
  status = 400;
  await client(["dead-letters", "purge", "--all", "--yes", "--wait"]);
  for (const event of ["One", "Two", EVIL]) {
    await pixel(server, "track", { writeKey, event, anonymousId: "u" });
  }
  await waitFor(async () => (await total()) === 3 || undefined, "three dead letters");
});

describe("dead-letters", () => {
  test("groups and list fit a terminal, and are JSON lines with --json", async () => {
    for (const args of [["groups"], ["list"], ["list", "--destination", "Sink"]]) {
      const terminal = inTerminal(server, ["dead-letters", ...args]);
      expect(await terminal.exited).toBe(0);
      expect(obeyedControls(terminal.screen())).toEqual([]);
      expect(widestLine(terminal.screen())).toBeLessThanOrEqual(80);
    }
    const groups = await client(["dead-letters", "groups", "--json"]);
    const [group] = groups.output
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(group.count).toBe(3);
    const list = await client(["dead-letters", "list", "--json", "--group", group.id, "--count=2"]);
    const letters = list.output
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(letters.map(({ event }) => event.event)).toEqual(["One", "Two"]);
    const none = await client(["dead-letters", "list", "--reason", "no such reason"]);
    expect(none.output).toBe("no dead letters\n");
  });

  test("replay with --wait exits with 1 while events fail, and with 0 when they arrive", async () => {
    const again = await client(["dead-letters", "replay", "--destination", "Sink", "--wait"]);
    expect({ ...again, output: "" }).toEqual({ code: 1, output: "", errors: "" });
    expect(again.output).toMatch(/ 0 delivered, 3 failed/);
    status = 200;
    const before = sink.events.length;
    const { code, output } = await client(["dead-letters", "replay", "--all", "--wait"]);
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toMatch(/^\S+ {2}done {2}3 delivered\n$/);
    expect(sink.events.length).toBe(before + 3);
    expect(await total()).toBe(0);
  });

  test("purge asks first, and deletes only after a yes", async () => {
    const piped = await client(["dead-letters", "purge", "--all"]);
    expect(piped.code).toBe(1);
    expect(piped.errors).toContain("Delete up to 3 dead letters for good? Expected --yes");
    const no = inTerminal(server, ["dead-letters", "purge", "--all"]);
    await no.shown("[y/N]");
    no.type("\r");
    expect(await no.exited).toBe(1);
    expect(no.screen()).toContain("nothing was deleted");
    expect(await total()).toBe(3);

    const yes = inTerminal(server, ["dead-letters", "purge", "--destination", "Sink", "--wait"]);
    await yes.shown("[y/N]");
    yes.type("y\r");
    expect(await yes.exited).toBe(0);
    expect(yes.screen()).toContain("3 deleted");
    expect(await total()).toBe(0);
  });
});

test("replay sends stored events again, and lists and cancels replays", async () => {
  status = 200;
  const before = sink.events.length;
  const range = ["--destination", "Sink", "--from", "1h", "--event", "Two"];
  const { code, output } = await client(["replay", "start", ...range, "--wait", "--json"]);
  expect(code).toBe(0);
  const replay = JSON.parse(output);
  expect(replay).toMatchObject({ state: "done", kind: "events" });
  const again = sink.events.slice(before).map(({ event }) => event);
  expect(new Set(again)).toEqual(new Set(["Two"]));

  const list = await client(["replay", "list"]);
  expect(list.output).toContain(`${replay.id}  done`);
  const cancelled = await client(["replay", "cancel", replay.id]);
  expect(cancelled.output).toContain(`${replay.id}  done`);
  const watched = await client(["replay", "watch", replay.id]);
  expect(watched.code).toBe(0);
});

describe("top", () => {
  test("draws within the terminal, says when the server is away, and leaves the screen", async () => {
    const start = (port: number) =>
      Bun.serve({
        port,
        hostname: "127.0.0.1",
        fetch: ({ url, headers }) =>
          fetch(server.controlPlane + new URL(url).pathname, { headers: new Headers(headers) }),
      });
    const proxy = start(0);
    const { port } = proxy;
    const controlPlane = `http://127.0.0.1:${port}`;
    const top = inTerminal({ controlPlane }, ["top", "--every", "0.1"]);
    await top.shown("DESTINATION");
    await proxy.stop(true);
    await top.shown("Cannot reach the server");
    const length = top.screen().length;
    const back = start(port!);
    await waitFor(() => top.screen().slice(length).includes("Ctrl-C ends") || undefined);
    top.signal("SIGINT");
    expect(await top.exited).toBe(0);
    back.stop(true);
    expect(top.screen()).toEndWith("\x1b[?25h\x1b[?1049l");
    const drawn = top.screen().replaceAll("\x1b[H", "\n").replaceAll(MOVES, "");
    expect(obeyedControls(drawn)).toEqual([]);
    expect(widestLine(drawn)).toBeLessThanOrEqual(80);
  });
});
