import { expect, spyOn, test } from "bun:test";
import { createFlushResponses } from "../../src/ingest/flush-responses.ts";

/** Texts stand in for answers. */
function responses() {
  const sent: string[] = [];
  const respond = createFlushResponses<string>({
    stored: (taken) => `stored ${taken}` as never,
    failed: (error, taken) => `failed ${taken}: ${error}` as never,
  });
  const exchange = (name: string) =>
    ({ respond: (response: unknown) => sent.push(`${name} ${response}`) }) as never;
  return { sent, respond, exchange };
}

test("requests of one flush are answered when it ends, each with its own events", async () => {
  const { sent, respond, exchange } = responses();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  respond(first.promise, exchange("a"), "1");
  respond(second.promise, exchange("b"), "2");
  respond(first.promise, exchange("c"), "3");
  expect(sent).toEqual([]);
  first.resolve();
  await first.promise;
  expect(sent).toEqual(["a stored 1", "c stored 3"]);
  second.reject("full");
  await second.promise.catch(() => {});
  expect(sent.slice(2)).toEqual(["b failed 2: full"]);
});

test("a flush that has ended answers each request once", async () => {
  const { sent, respond, exchange } = responses();
  const flush = Promise.resolve();
  respond(flush, exchange("a"), "1");
  await flush;
  respond(flush, exchange("b"), "2");
  await flush;
  expect(sent).toEqual(["a stored 1", "b stored 2"]);
});

test("the requests of one flush wait with one callback", async () => {
  const { sent, respond, exchange } = responses();
  const flush = Promise.resolve();
  const waits = spyOn(flush, "then");
  for (const name of ["a", "b", "c"]) respond(flush, exchange(name), "1");
  expect(waits).toHaveBeenCalledTimes(1);
  await flush;
  expect(sent).toEqual(["a stored 1", "b stored 1", "c stored 1"]);
});
