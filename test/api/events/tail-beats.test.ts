import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import { tailRoutes } from "../../../src/api/routes/events/live-tail.ts";
import { TAIL_PENDING_BYTES_MAX, TAILS_OF_WORKSPACE_MAX } from "../../../src/settings/limits.ts";

afterEach(() => mock.restore());

const [{ handle }] = tailRoutes;

/** Opens a live tail, whose clock runs by `beat`. Each message is a frame of `bytes` bytes. */
function openTail(query: object = {}) {
  let beat = () => {};
  const intervals: (number | undefined)[] = [];
  const cleared = spyOn(globalThis, "clearInterval").mockImplementation(() => {});
  spyOn(globalThis, "setInterval").mockImplementation(((act: () => void, ms?: number) => {
    beat = act;
    intervals.push(ms);
    return 77;
  }) as never);
  const limiters = createLimiters(0);
  const closing = new AbortController();
  const state = { isSubscribed: false, isValid: true, isBounded: false, permission: "events:read" };
  let tell: (message: object) => void = () => {};
  const deps = {
    limiters,
    catalog: {
      tokens: {
        authenticate: () =>
          state.isValid ? { permissions: new Set([state.permission]) } : undefined,
      },
    },
    tailFrames: {
      frameOf: (_: string, { bytes = 1 }: { bytes?: number }) =>
        state.isBounded ? undefined : Buffer.from("x".repeat(bytes)),
    },
    pipeline: {
      liveTail: {
        subscribe(_: string, receive: (message: object) => void) {
          tell = receive;
          state.isSubscribed = true;
          return () => {
            state.isSubscribed = false;
          };
        },
      },
    },
  };
  const request = new Request("http://x/", { headers: { authorization: "Bearer t" } });
  const call = { deps, workspaceId: "w", query, request, closing: closing.signal };
  const response = handle(call as never) as unknown as Response;
  const reader = response.body!.getReader();
  const read = async () => {
    const { done, value } = await reader.read();
    return done ? undefined : Buffer.from(value).toString();
  };
  const beats = (count: number) => {
    for (let n = 0; n < count; n++) beat();
  };
  const tellOne = (message: object = {}) => tell(message);
  return {
    ...{ response, read, reader, beats, state, limiters, closing, cleared, intervals },
    tell: tellOne,
  };
}

/** Whether a workspace can open as many tails as it may have. */
function isReleased({ limiters }: ReturnType<typeof openTail>): boolean {
  try {
    for (let n = 0; n < TAILS_OF_WORKSPACE_MAX; n++) limiters.liveTails.acquire("w");
    return true;
  } catch {
    return false;
  }
}

test("a live tail is an uncached event stream on a connection of its own, with a beat each second", async () => {
  const { response, read, beats, intervals, tell } = openTail();
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(response.headers.get("connection")).toBe("close");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(intervals).toEqual([1_000]);
  beats(1);
  tell({ bytes: 3 });
  expect([await read(), await read(), await read()]).toEqual([
    ...[": connected\n\n", ": still here\n\n", "xxx"],
  ]);
});

test("a live tail has the messages of its source and its destination alone", async () => {
  const { read, tell, closing } = openTail({ sourceId: "s", destinationId: "d" });
  for (const [n, [sourceId, destinationId]] of [
    ...[
      ["s", "d"],
      ["t", "d"],
      ["s", "e"],
      ["s", undefined],
      ["s", "d"],
    ].entries(),
  ]) {
    tell({ sourceId, destinationId, bytes: n + 1 });
  }
  closing.abort();
  const texts: (string | undefined)[] = [];
  for (let text = await read(); text !== undefined; text = await read()) texts.push(text);
  expect(texts).toEqual([": connected\n\n", "x", "xxxxx"]);
});

test("a live tail tells how many messages its reader did not get, before the next one", async () => {
  const { read, tell, beats, state } = openTail();
  tell({ bytes: TAIL_PENDING_BYTES_MAX });
  for (let n = 0; n < 3; n++) tell();
  // A beat that finds no room writes nothing.
  beats(1);
  expect(await read()).toBe(": connected\n\n");
  expect((await read())!.length).toBe(TAIL_PENDING_BYTES_MAX);
  // A workspace that is sent too much misses messages, too.
  state.isBounded = true;
  tell();
  state.isBounded = false;
  tell({ bytes: 2 });
  tell({ bytes: 3 });
  expect([await read(), await read(), await read()]).toEqual([
    ...['event: missed\ndata: {"count":4}\n\n', "xx", "xxx"],
  ]);
});

test("a live tail ends when its client has read nothing for 31 beats", async () => {
  const tail = openTail();
  const { read, tell, beats, state, cleared } = tail;
  const fill = () => tell({ bytes: TAIL_PENDING_BYTES_MAX });
  fill();
  beats(30);
  expect(state.isSubscribed).toBe(true);
  // A client that reads again has all its time again.
  await read();
  await read();
  beats(1);
  fill();
  beats(30);
  expect([state.isSubscribed, cleared.mock.calls]).toEqual([true, []]);
  beats(1);
  expect([state.isSubscribed, cleared.mock.calls]).toEqual([false, [[77]] as never]);
  expect(isReleased(tail)).toBe(true);
});

test.each([
  ["its token is revoked", { isValid: false }],
  ["its token has lost the permission", { permission: "audit:read" }],
])("a live tail ends at the next beat when %s", async (_, change) => {
  const tail = openTail();
  tail.beats(1);
  expect(isReleased(tail)).toBe(false);
  Object.assign(tail.state, change);
  tail.beats(1);
  expect(tail.state.isSubscribed).toBe(false);
  expect([await tail.read(), await tail.read()]).toEqual([": connected\n\n", ": still here\n\n"]);
  expect(await tail.read()).toBeUndefined();
});

test("a live tail ends with its server and with its client, and gives all back", async () => {
  const stopped = openTail();
  stopped.closing.abort();
  const left = openTail();
  await left.reader.cancel();
  for (const tail of [stopped, left]) {
    expect([tail.state.isSubscribed, isReleased(tail)]).toEqual([false, true]);
  }
  // The end of the server finds nothing to end.
  left.closing.abort();
});
