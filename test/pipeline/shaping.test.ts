import { afterEach, beforeEach, expect, test } from "bun:test";
import type { TailMessage } from "../../src/pipeline/live-tail.ts";
import { createMemberFilter } from "../../src/pipeline/transforming/member-filter.ts";
import { eventOf, record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { lettersOf, numbersTo, Rig, until } from "./rig.ts";

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

/** Pixels whose events hold what shapes a request. */
const hostile = (one: Parameters<typeof eventOf>[0]) => {
  const built = eventOf(one);
  const event = JSON.parse(Buffer.from(built.json).toString());
  const more = { appendPath: "/admin", header: { authorization: "mine" }, fullPath: "http://evil" };
  return { ...built, json: Buffer.from(JSON.stringify({ ...event, ...more })) };
};

test("events whose requests differ are sent separately, each user's in order", async () => {
  const paths: string[] = [];
  const sink = rig.webhook(
    "one",
    (events, request) => {
      for (const { n } of events) paths[n] = new URL(request.url).pathname;
      return new Response("ok");
    },
    { batchSize: 100 },
  );
  rig.sandbox.codes.set("code", (event) => ({ ...event, appendPath: `p${event.n % 3}` }));
  rig.live.publish("one", "code", "v1");
  rig.log.append(...numbersTo(300).map((n) => record(n, `user ${n % 7}`)));
  rig.start({ clock: hurried(0.01) });
  await until(() => sink.taken.length >= 300);
  expect(paths).toEqual(numbersTo(300).map((n) => `/p${n % 3}`));
  const last = new Map<string, number>();
  for (const { anonymousId, n } of sink.taken) {
    expect(last.get(anonymousId) ?? -1).toBeLessThan(n);
    last.set(anonymousId, n);
  }
});

test("events with equal requests share one", async () => {
  const sink = rig.webhook("one", undefined, { batchSize: 100 });
  rig.sandbox.codes.set("code", (event) => ({ ...event, header: { "x-a": "b" } }));
  rig.live.publish("one", "code", "v1");
  rig.log.append(...numbersTo(40).map((n) => record(n, `user ${n}`)));
  rig.start();
  await until(() => sink.taken.length >= 40);
  expect(sink.requests).toBe(1);
});

test("an event with an invalid request becomes a dead letter, and the others of its batch arrive", async () => {
  const sink = rig.webhook("one", undefined, { batchSize: 100 });
  rig.sandbox.codes.set("code", (event) =>
    event.n === 3 ? { ...event, header: { host: "evil" } } : event,
  );
  rig.live.publish("one", "code", "v1");
  rig.log.append(...numbersTo(10).map((n) => record(n, `user ${n}`)));
  const pipeline = rig.start();
  await until(() => sink.taken.length >= 9 && lettersOf(pipeline).length === 1);
  expect(lettersOf(pipeline)).toMatchObject([
    {
      stage: "deliver",
      reason: 'Expected a header that the service does not set, in header "host"',
    },
  ]);
});

test("members by which code shapes a request are in no message of the live tail and in no dead letter", async () => {
  const credential = "Bearer of a credential";
  const good = rig.webhook("good");
  // Code may not lead a request from this destination to the host of the other one.
  rig.webhook("bad");
  rig.sandbox.codes.set("code", (event) => ({
    ...event,
    header: { authorization: credential },
    appendPath: `?key=${credential}`,
    integrations: { All: true, webhook: { fullPath: `${good.url}?key=${credential}` } },
  }));
  for (const id of ["good", "bad"]) rig.live.publish(id, "code", "v1");
  const pipeline = rig.start({
    eventOf: (one) => {
      const built = eventOf(one);
      const event = { ...JSON.parse(Buffer.from(built.json).toString()), header: "of a client" };
      return { ...built, json: Buffer.from(JSON.stringify(event)) };
    },
  });
  const messages: TailMessage[] = [];
  pipeline.liveTail.subscribe("workspace", (message) => messages.push(message));
  rig.log.append(record(1));
  await until(() => messages.length >= 3 && lettersOf(pipeline).length === 1);
  const stages = messages.map(({ stage }) => stage).sort();
  expect(stages).toEqual(["dead-letter", "delivered", "received"]);
  const [letter] = lettersOf(pipeline);
  const one = pipeline.deadLetters.get("workspace", letter!.id);
  for (const shown of [messages, letter, one]) {
    expect(JSON.stringify(shown)).not.toContain(credential);
  }
  expect(letter!.event).toMatchObject({ n: 1, integrations: { All: true, webhook: {} } });
  // Members that a client sent are shown.
  const received = messages.find(({ stage }) => stage === "received");
  expect(received!.event).toMatchObject({ n: 1, header: "of a client" });
});

test("the members of a pixel shape no request, with code or without", async () => {
  const targets: string[] = [];
  const note = (_: unknown, request: Request) => {
    targets.push(new URL(request.url).pathname + (request.headers.get("authorization") ?? ""));
    return new Response("ok");
  };
  const plain = rig.webhook("plain", note);
  const coded = rig.webhook("coded", note);
  rig.sandbox.codes.set("code", (event) => event);
  rig.live.publish("coded", "code", "v1");
  rig.log.append(record(1));
  rig.start({ eventOf: hostile });
  await until(() => plain.taken.length + coded.taken.length >= 2);
  expect(targets).toEqual(["/", "/"]);
  // Nothing of what came is lost where no code asks for requests.
  expect(plain.taken[0]).toMatchObject({ n: 1, appendPath: "/admin" });
  expect(coded.taken[0]).not.toHaveProperty("appendPath");
});

test("code may set request members that a pixel also has", async () => {
  const targets: string[] = [];
  const sink = rig.webhook("one", (_, request) => {
    targets.push(new URL(request.url).pathname);
    return new Response("ok");
  });
  rig.sandbox.codes.set("code", (event) => ({ ...event, appendPath: "/admin" }));
  rig.live.publish("one", "code", "v1");
  rig.log.append(record(1));
  rig.start({ eventOf: hostile });
  await until(() => sink.taken.length >= 1);
  expect(targets).toEqual(["/admin"]);
});

test("the member filter removes top-level members only, and returns other events unchanged", () => {
  const withhold = createMemberFilter(["header", "appendPath"]);
  const plain = Buffer.from('{"a":{"b":"header"}}');
  expect(withhold(Buffer.from('{"a":{"header":1},"header":{"x":"\\""},"b":[]}')).toString()).toBe(
    '{"a":{"header":1},"b":[]}',
  );
  expect(withhold(Buffer.from('{"header":1}')).toString()).toBe("{}");
  expect(withhold(plain).toString()).toBe('{"a":{"b":"header"}}');
  const none = Buffer.from('{"a":1}');
  expect(withhold(none)).toBe(none);
});
