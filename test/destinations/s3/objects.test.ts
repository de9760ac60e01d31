import { expect, test } from "bun:test";
import type { S3Config } from "../../../src/destinations/s3/config.ts";
import { s3Kind } from "../../../src/destinations/s3/s3.ts";
import type { Egress, EgressRequest, EgressResponse } from "../../../src/egress/egress.ts";
import { ConnectionClosed } from "../../../src/egress/receiver-connection.ts";
import { GATHERED_BYTES_MAX, GATHERED_EVENTS_MAX } from "../../../src/settings/limits.ts";
import { outgoing } from "../outgoing.ts";

const { signal } = new AbortController();
const base = { bucket: "lake", accessKeyId: "key", secretAccessKey: "secret" };
const ok = { status: 200, headers: { etag: '"x"' }, body: new Uint8Array() };
const refusal = (status: number, code: string): EgressResponse => ({
  ...{ status, headers: {}, body: Buffer.from(`<Error><Code>${code}</Code></Error>`) },
});

/** A kind whose requests get these answers in turn, and then succeed. */
function setup(answers: (EgressResponse | Error)[] = []) {
  const requests: EgressRequest[] = [];
  const egress = {
    async request({ onStage, ...request }: EgressRequest) {
      requests.push(request as EgressRequest);
      const answer = answers.shift() ?? ok;
      for (const stage of ["resolve", "connect", "tls"] as const) onStage?.(stage);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  } as unknown as Egress;
  const kind = s3Kind(egress);
  const urls = () => requests.splice(0).map(({ method, url }) => `${method} ${url}`);
  return { kind, requests, urls };
}

const at = (sourceId: string, time: string) => {
  const event = outgoing({ n: 1 });
  return { ...event, input: { ...event.input, sourceId, receivedAt: Date.parse(time) } };
};
const events = [
  at("s", "2026-02-16T01:59:59.999Z"),
  at("s", "2026-02-16T02:00:00Z"),
  at("t", "2026-02-16T02:00:00Z"),
  at("s", "2026-02-16T01:00:00Z"),
];
const keys = ["s/2026-02-16/01", "s/2026-02-16/02", "t/2026-02-16/02"];

test("events are written to an object for each source and hour, which has the name of the delivery", async () => {
  const { kind, urls, requests } = setup();
  const client = kind.open(base, "w");
  expect(await client.deliver(events, signal, "name")).toEqual({ kind: "delivered" });
  const [first] = requests;
  expect(first).toMatchObject({ workspaceId: "w", isRepeatable: true, timeoutMs: 60_000 });
  expect(first!.headers["content-type"]).toBe("application/gzip");
  expect(
    Buffer.from(Bun.gunzipSync(first!.body as Uint8Array<ArrayBuffer>))
      .toString()
      .split("\n"),
  ).toHaveLength(3);
  const host = "https://lake.s3.us-east-1.amazonaws.com";
  expect(urls()).toEqual(keys.map((key) => `PUT ${host}/${key}/name.jsonl.gz`));
  const prefixed = { ...base, prefix: "raw/events", format: "parquet" as const, timeoutMs: 5 };
  await kind.open(prefixed, "w").deliver(events.slice(0, 1), signal, "name");
  expect(requests[0]).toMatchObject({ timeoutMs: 5 });
  expect(requests[0]!.headers["content-type"]).toBe("application/vnd.apache.parquet");
  expect(urls()).toEqual([`PUT ${host}/raw/events/${keys[0]}/name.parquet`]);
});

test("a delivery ends at the first object that fails, and begins with another one next time", async () => {
  const broken = refusal(503, "SlowDown");
  const { kind, urls } = setup([ok, broken, broken, ok, ok, broken]);
  const client = kind.open(base, "w");
  const written = () => urls().map((url) => keys.findIndex((key) => url.includes(key)));
  const reason = "The store asks for fewer requests (503 SlowDown)";
  expect(await client.deliver(events, signal, "n")).toMatchObject({
    ...{ kind: "retry", reason, delivered: new Set([0, 3]), answer: { code: "SlowDown" } },
  });
  expect(written()).toEqual([0, 1]);
  const second = await client.deliver(events, signal, "n");
  expect("delivered" in second).toBe(false);
  expect("afterMs" in second).toBe(false);
  expect(written()).toEqual([1]);
  expect(await client.deliver(events, signal, "n")).toMatchObject({
    delivered: new Set([2, 0, 3]),
  });
  expect(written()).toEqual([2, 0, 1]);
  expect(await client.deliver(events, signal, "n")).toEqual({ kind: "delivered" });
  expect(written()).toEqual([0, 1, 2]);
  await client.close();
});

test("a failure has the delay that the store asks for, its secrets, and a network's reason", async () => {
  const asking = { ...refusal(503, "SlowDown"), headers: { "retry-after": "3" } };
  const { kind } = setup([asking, new ConnectionClosed("The response ended early")]);
  const client = kind.open(base, "w");
  const result = await client.deliver(events, signal);
  expect(result).toMatchObject({ kind: "retry", afterMs: 3_000 });
  expect(result.kind === "retry" && result.answer?.sent).toEqual([
    "key",
    expect.stringMatching(/^[0-9a-f]{64}$/),
  ]);
  expect(await client.deliver(events, signal)).toStrictEqual({
    ...{ kind: "retry", reason: "The response ended early" },
  });
});

test.each([
  [[], ["sign-in", "write", "clean-up"]],
  [[refusal(403, "AccessDenied")], ["sign-in", "write failed"]],
  [[refusal(403, "InvalidAccessKeyId")], ["sign-in failed"]],
  [
    [ok, refusal(403, "AccessDenied")],
    ["sign-in", "write", "clean-up failed"],
  ],
  [
    [ok, new Error("x")],
    ["sign-in", "write", "clean-up failed"],
  ],
  [[new Error("x")], ["sign-in failed"]],
])("a connection test writes an object and deletes it: %#", async (answers, expected) => {
  const { kind, urls } = setup(answers);
  const steps = await kind.test({ ...base, prefix: "p" }, "w", signal);
  const shown = steps.map(({ step, ok }) => (ok ? step : `${step} failed`));
  expect(shown).toEqual(["resolve", "connect", "tls", ...expected]);
  const [put, gone] = urls();
  expect(put).toMatch(/^PUT .*\/p\/connection-test-[0-9a-f-]{36}$/);
  if (gone !== undefined) expect(gone).toBe(put!.replace("PUT", "DELETE"));
  const last = steps.at(-1)!;
  if (last.step === "clean-up" && !last.ok) {
    expect(last.message).toStartWith(`The object ${put!.split("/").at(-1)} stays: `);
  }
  if (shown.at(-1) === "write failed") expect(last.answer?.sent).toHaveLength(2);
});

test("a connection test without a prefix writes to the bucket itself", async () => {
  const { kind, urls } = setup();
  await kind.test(base, "w", signal);
  expect(urls()[0]).toMatch(/amazonaws\.com\/connection-test-/);
});

test.each([
  [{}, "https://lake.s3.us-east-1.amazonaws.com/"],
  [{ region: "eu-west-1" }, "https://lake.s3.eu-west-1.amazonaws.com/"],
  [{ pathStyle: true }, "https://s3.us-east-1.amazonaws.com/lake/"],
  [{ endpoint: "http://h.test:9000" }, "http://h.test:9000/lake/"],
  [{ endpoint: "http://h.test:9000", pathStyle: false }, "http://lake.h.test:9000/"],
])("the bucket of %j has its URL", async (more, url) => {
  const { kind, urls } = setup();
  await kind.open({ ...base, ...more }, "w").deliver(events.slice(0, 1), signal, "n");
  expect(urls()).toEqual([`PUT ${url}${keys[0]}/n.jsonl.gz`]);
});

test.each([
  [{}, []],
  [{ prefix: "a/./b" }, ["/prefix"]],
  [{ prefix: ".." }, ["/prefix"]],
  [{ prefix: "a..b/.c" }, []],
  [{ endpoint: "http://h.test/" }, []],
  [{ endpoint: "http://h.test/path" }, ["/endpoint"]],
  [{ endpoint: "http://h.test?q" }, ["/endpoint"]],
  [{ endpoint: "http://h.test#f" }, ["/endpoint"]],
  [{ endpoint: "ftp://h.test" }, ["/endpoint"]],
  [{ endpoint: "http://10.0.0.1", pathStyle: false }, ["/pathStyle"]],
  [{ bucket: "A" }, ["/bucket"]],
])("a config with %j has its faults", (more, paths) => {
  const { kind } = setup();
  expect(kind.validate({ ...base, ...more }).map(({ path }) => path)).toEqual(paths);
});

test("a kind tells its address, its batches, and who receives its secret", () => {
  const { kind } = setup();
  const endpointOf = (config: object) => kind.endpoint?.({ ...base, ...config } as S3Config);
  expect(endpointOf({})).toBe("s3://lake");
  expect(endpointOf({ endpoint: "http://h.test", prefix: "a/b" })).toBe("http://h.test/lake/a/b");
  const given = { ...base, batchSize: 7, batchBytes: 2_000, batchAgeMs: 3 };
  expect([kind.batchSize(base), kind.batchSize(given)]).toEqual([GATHERED_EVENTS_MAX, 7]);
  expect([kind.batchLimits!(base), kind.batchLimits!(given)]).toEqual([
    { bytes: GATHERED_BYTES_MAX, ageMs: 60_000 },
    { bytes: 2_000, ageMs: 3 },
  ]);
  const [secret] = kind.secretKeys;
  expect(secret!.audiences({ ...base, region: "x" })).toEqual([
    { host: "amazonaws.com:443", isTls: true },
  ]);
  expect(secret!.audiences({ ...base, endpoint: "http://h.test" })).toEqual([
    { host: "h.test:80", isTls: false },
  ]);
});
