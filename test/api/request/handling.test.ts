import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { RouteDeps } from "../../../src/api/deps.ts";
import { handleRequest } from "../../../src/api/request/handle.ts";
import { EVENT_STREAM, type Route, route } from "../../../src/api/route.ts";
import { LoopLateness } from "../../../src/observe/loop-lateness.ts";
import { ID_CHARS_MAX, IDLE_CONNECTION_SECONDS_MAX } from "../../../src/settings/limits.ts";

/** An open route, which needs no other part of a server. */
const open = route("GET /open/{id}", {
  summary: "Answers",
  needs: "open",
  answer: Type.Unknown(),
  example: { params: { id: "a" }, answer: {} },
  handle: ({ params }) => ({ id: params.id }),
}) as unknown as Route;

/** Sends a request to a route; also returns the idle timeouts of its connection. */
function send(
  more: Partial<Route>,
  params: Record<string, string | null> = {},
  answerMsMax = 60_000,
) {
  const request = new Request("http://127.0.0.1/open/a");
  const deps: RouteDeps = Object.assign(Object.create(null), { hosts: [], answerMsMax });
  const lateness = new LoopLateness();
  const timeouts: number[] = [];
  const server = { timeout: (_: Request, seconds: number) => timeouts.push(seconds) };
  const listener = { deps, closing: request.signal, lateness };
  const incoming = { request, params, server: server as never };
  const answer = handleRequest({ ...open, ...more }, listener, incoming).finally(() => {
    lateness.close();
  });
  return { answer, timeouts };
}

test("a client that waits for its answer keeps its connection, and that of a stream has no end", async () => {
  const usual = send({});
  await usual.answer;
  expect(usual.timeouts).toEqual([0, IDLE_CONNECTION_SECONDS_MAX]);
  const failing = send({ handle: () => Promise.reject(new Error("The disk is gone")) });
  await expect(failing.answer).rejects.toThrow("The disk is gone");
  expect(failing.timeouts).toEqual([0, IDLE_CONNECTION_SECONDS_MAX]);
  const stream = send({ media: EVENT_STREAM, handle: () => new Response("data: {}\n\n") });
  await stream.answer;
  expect(stream.timeouts).toEqual([0]);
});

test("a handler that waits for user code or a receiver has all its time, and others a limited one", async () => {
  const late = Promise.withResolvers<object>();
  const handle = () => late.promise;
  const short = send({ handle }, {}, 5);
  await expect(short.answer).rejects.toThrow("No answer within");
  const long = send({ handle, isLong: true }, {}, 5);
  await Bun.sleep(15);
  late.resolve({ done: true });
  expect(await (await long.answer).json()).toEqual({ done: true });
});

test("an id in the path that no item can have is not found", async () => {
  const longest = "a".repeat(ID_CHARS_MAX);
  expect(await (await send({}, { id: longest }).answer).json()).toEqual({ id: longest });
  for (const id of [null, `${longest}a`]) {
    const message = "Expected an id in the path, got an invalid one";
    await expect(send({}, { id }).answer).rejects.toThrow(message);
  }
});
