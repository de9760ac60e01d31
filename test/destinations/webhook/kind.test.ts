import { expect, spyOn, test } from "bun:test";
import type { WebhookConfig } from "../../../src/destinations/webhook/config.ts";
import { webhookKind } from "../../../src/destinations/webhook/webhook.ts";
import { type Egress, EgressRefused, type EgressRequest } from "../../../src/egress/egress.ts";
import { outgoing } from "../outgoing.ts";

const { signal } = new AbortController();
const webhookUrl = "https://h.test/in?key=query-secret";
const tokenUrl = "https://t.test/";
const oauth = { tokenUrl, clientId: "id", clientSecret: "secret" };

type Answer = Error | { status: number; headers?: Record<string, string>; body?: string };

/** A kind whose requests to the receiver and to the token server get these answers in turn. */
function setup(hooks: Answer[] = [], tokens: Answer[] = []) {
  const requests: EgressRequest[] = [];
  let issued = 0;
  const egress = {
    async request({ onStage, ...request }: EgressRequest) {
      requests.push(request as EgressRequest);
      for (const stage of ["resolve", "connect", "tls"] as const) onStage?.(stage);
      const isToken = request.url === tokenUrl;
      const answer = (isToken ? tokens : hooks).shift() ?? { status: 200 };
      if (answer instanceof Error) throw answer;
      const { status, headers = {} } = answer;
      const token = isToken && status === 200 ? `{"access_token":"token-${++issued}"}` : "";
      return { status, headers, body: Buffer.from(answer.body ?? token) };
    },
  } as unknown as Egress;
  const kind = webhookKind(egress);
  const open = (more: object = {}) => kind.open({ webhookUrl, ...more } as WebhookConfig, "w");
  const deliver = (more: object = {}, event = outgoing({ n: 1 })) =>
    open(more).deliver([event], signal);
  const steps = async (more: object = {}, stop = signal) => {
    const done = await kind.test({ webhookUrl, ...more } as WebhookConfig, "w", stop);
    return done.map(({ durationMs: _, ...step }) => step);
  };
  return { requests, open, deliver, steps };
}

test("a refused request has the answer of the receiver, with the secrets that it may repeat", async () => {
  const { deliver } = setup([{ status: 400, headers: { server: "s" }, body: "no" }]);
  const headers = [{ from: "X-Api-Key", to: "header-secret" }];
  expect(await deliver({ headers })).toEqual({
    ...{ kind: "rejected", reason: "HTTP 400 from receiver" },
    answer: {
      ...{ status: 400, headers: { server: "s" }, body: Buffer.from("no") },
      sent: ["header-secret", ...Array(4).fill("query-secret")],
    },
  });
});

test.each([
  [new EgressRefused("Not there"), { kind: "rejected", reason: "Not there" }],
  [new SyntaxError("x"), { kind: "rejected", reason: "Expected events of JSON" }],
  [new Error("Broken"), { kind: "retry", reason: "Broken" }],
])("a request that fails by %p ends a delivery with %j", async (error, result) => {
  expect(await setup([error]).deliver()).toStrictEqual(result as never);
});

test("an event from which no request can be made is rejected", async () => {
  const { deliver, requests } = setup();
  const header = outgoing({ header: { "a b": "c" } }, {}, true);
  expect(await deliver({}, header)).toStrictEqual({
    ...{ kind: "rejected", reason: 'Expected a header name, in header "a b"' },
  });
  const text = outgoing(Buffer.from("{"));
  expect(await deliver({ webhookMethod: "GET" }, text)).toStrictEqual({
    ...{ kind: "rejected", reason: "Expected events of JSON" },
  });
  expect(requests).toEqual([]);
});

test("a request has the token, and a failure the status of the token server", async () => {
  const { deliver, requests } = setup();
  expect(await deliver({ oauth })).toEqual({ kind: "delivered" });
  expect(requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    [tokenUrl, expect.stringMatching(/^Basic /)],
    [webhookUrl, "Bearer token-1"],
  ]);
  for (const [answer, result] of [
    [
      { status: 400 },
      {
        kind: "rejected",
        reason: "No access token: tokenUrl answered 400",
        answer: { status: 400 },
      },
    ],
    [
      { status: 503, headers: { "retry-after": "2" } },
      {
        ...{ kind: "retry", reason: "No access token: tokenUrl answered 503", afterMs: 2_000 },
        answer: { status: 503 },
      },
    ],
    [new Error("Broken"), { kind: "retry", reason: "No access token: Broken" }],
    [new EgressRefused("Not there"), { kind: "rejected", reason: "No access token: Not there" }],
  ] as [Answer, object][]) {
    const failing = setup([], [answer]);
    expect(await failing.deliver({ oauth })).toStrictEqual(result as never);
    expect(failing.requests).toHaveLength(1);
  }
});

test("a token that is refused is replaced once, and both are secrets of the answer", async () => {
  const { deliver, requests } = setup([{ status: 401 }, { status: 401 }]);
  const result = await deliver({ oauth });
  expect(result).toMatchObject({ kind: "rejected", reason: "HTTP 401 from receiver" });
  expect(result.kind === "rejected" && result.answer?.sent?.slice(0, 2)).toEqual([
    ...["token-1", "token-2"],
  ]);
  const sent = requests.filter(({ url }) => url === webhookUrl);
  expect(sent.map(({ headers }) => headers.authorization)).toEqual([
    ...["Bearer token-1", "Bearer token-2"],
  ]);
});

test("a refusal of a token that was accepted before is tried again, and any other refusal is not", async () => {
  const { open } = setup([
    ...[{ status: 401 }, { status: 200 }, { status: 401 }, { status: 403 }, { status: 401 }],
  ]);
  const client = open({ oauth });
  const deliver = async () => (await client.deliver([outgoing({})], signal)).kind;
  // The first token is replaced, so that the second one stays for a time.
  const clock = spyOn(performance, "now").mockReturnValue(1_000);
  try {
    expect([await deliver(), await deliver(), await deliver(), await deliver()]).toEqual([
      ...(["delivered", "retry", "rejected", "retry"] as const),
    ]);
  } finally {
    clock.mockRestore();
  }
});

test("a closed destination waits for no token", async () => {
  const { open, requests } = setup();
  const client = open({ oauth });
  await client.deliver([outgoing({})], signal);
  expect(requests[0]!.signal.aborted).toBe(false);
  await client.close();
  expect(requests[0]!.signal.aborted).toBe(true);
  await open().close();
});

const connected = ["resolve", "connect", "tls"].map((step) => ({ step, ok: true }));
const answered = (status: number) => ({
  ...{ status, headers: {}, body: Buffer.alloc(0), sent: Array(4).fill("query-secret") },
});

test("a connection test sends one event, as a list where events are sent in lists", async () => {
  const { steps, requests } = setup();
  expect(await steps()).toEqual([
    ...connected,
    { step: "write", ok: true, answer: answered(200) },
  ] as never);
  await steps({ batchSize: 2 });
  const bodies = requests.map(({ body }) => JSON.parse(Buffer.from(body).toString()));
  expect(bodies[0].event).toBe("Connection test");
  expect(bodies[1]).toEqual([expect.objectContaining({ event: "Connection test" })]);
  const failing = setup([{ status: 404 }]);
  expect(await failing.steps()).toEqual([
    ...connected,
    { step: "write", ok: false, message: "HTTP 404 from receiver", answer: answered(404) },
  ] as never);
});

test("a connection test signs in first, and shows it before the step that it is for", async () => {
  const { steps, requests } = setup();
  const done = await steps({ oauth });
  expect(done.map(({ step }) => step)).toEqual([
    ...(["resolve", "connect", "tls", "sign-in", "write"] as const),
  ]);
  expect(done[4]!.answer!.sent!.slice(0, 2)).toEqual(["Bearer token-1", "token-1"]);
  // A test keeps no token, and ends its own request.
  await steps({ oauth });
  expect(requests.filter(({ url }) => url === tokenUrl)).toHaveLength(2);
  expect(requests[0]!.signal.aborted).toBe(true);
  const refused = setup([], [{ status: 401 }]);
  expect(await refused.steps({ oauth })).toEqual([
    {
      ...{ step: "sign-in", ok: false, message: "No access token: tokenUrl answered 401" },
      answer: { status: 401 },
    },
  ]);
  expect(refused.requests).toHaveLength(1);
  const stopped = AbortSignal.abort(new Error("Stopped"));
  expect(await setup().steps({ oauth }, stopped)).toEqual([
    { step: "sign-in", ok: false, message: "Stopped" },
  ]);
});
