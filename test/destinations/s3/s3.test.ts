import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { DeliveryResult } from "../../../src/destinations/destination.ts";
import { s3Kind } from "../../../src/destinations/s3/s3.ts";
import { createEgress } from "../../../src/egress/egress.ts";
import { describeWith, testWith } from "../../counterpart.ts";
import { RawSink } from "../../egress/sink.ts";
import { mountDisk, mountMissing, unmountDisk } from "../../small-disk.ts";
import { type Bench, describeDestination } from "../contract.ts";
import { eventsOf, rowsOf } from "../formats.ts";
import { outgoing } from "../outgoing.ts";
import { S3Server, s3Missing } from "./s3-server.ts";

const idle = new AbortController().signal;
const egress = createEgress({ allow: ["127.0.0.0/8"] });
const kind = s3Kind(egress);
afterAll(() => egress.close());

async function bench(format: "jsonl.gz" | "parquet"): Promise<Bench> {
  const server = await S3Server.start();
  const config = { ...server.config, prefix: "raw/events=all", format };
  const broken = (over: Record<string, unknown>) => ({ ...config, ...over });
  const without = (key: string) =>
    Object.fromEntries(Object.entries(config).filter(([name]) => name !== key));
  const faults: [string, unknown[]][] = [
    ["endpoint", ["", 1, "minio", "ftp://a", "http://user@a", "http://a/b", "http://a/?b"]],
    ["bucket", ["", "a", "A-b-c", "a/b", "-ab", "ä".repeat(3)]],
    ["prefix", ["", "/a", "a/", "a//b", "a b", "../a", "a/..", "a?b", "ä"]],
    ["region", ["", "EU", "a/b"]],
    ["format", ["csv", 1]],
    ["batchSize", [0, 1e6, 1.5]],
    ["batchBytes", [0, 1e12]],
    ["batchAgeMs", [0, 1e12]],
    ["timeoutMs", [0, 1e12]],
    ["pathStyle", ["yes"]],
    ["accessKeyId", ["", "a b", "a/b"]],
    ["secretAccessKey", [""]],
  ];
  return {
    kind,
    config,
    faulty: [
      ...["bucket", "accessKeyId", "secretAccessKey"].map((key) => ({
        config: without(key),
        path: `/${key}`,
      })),
      ...faults.flatMap(([key, values]) =>
        values.map((value) => ({ config: broken({ [key]: value }), path: `/${key}` })),
      ),
    ],
    unusable: [
      { config: broken({ endpoint: "http://nowhere.invalid" }), step: "resolve" },
      { config: broken({ endpoint: "http://10.1.2.3" }), step: "resolve" },
      { config: broken({ endpoint: "http://127.0.0.1:1" }), step: "connect" },
      { config: broken({ endpoint: `https://127.0.0.1:${server.port}` }), step: "tls" },
      { config: broken({ accessKeyId: "unknown" }), step: "sign-in" },
      { config: broken({ secretAccessKey: "wrong" }), step: "sign-in" },
      { config: broken({ bucket: "missing" }), step: "write" },
    ],
    async arrived() {
      const keys = await server.keys();
      const files = await Promise.all(
        keys.map(async (key) => eventsOf(key, await server.bytes(key))),
      );
      return files.flat();
    },
    end: () => server.end(),
  };
}

if (s3Missing === undefined) {
  describeDestination("s3 with JSON lines", () => bench("jsonl.gz"));
  describeDestination("s3 with Parquet", () => bench("parquet"));
}

describeWith(s3Missing)("objects", () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await S3Server.start();
  });
  afterAll(() => server?.end());

  const at = (time: string, sourceId: string) => ({ receivedAt: Date.parse(time), sourceId });

  test("have keys by source, date and hour in UTC, and replace those of earlier attempts", async () => {
    const open = kind.open({ ...server.config, prefix: "lake" }, "workspace");
    const events = [
      outgoing({ n: 0 }, at("2026-02-16T01:59:59.999Z", "shop")),
      outgoing({ n: 1 }, at("2026-02-16T02:00:00.000Z", "shop")),
      outgoing({ n: 2 }, at("2026-02-16T02:00:00.000Z", "blog")),
      outgoing({ n: 3 }, at("2026-02-16T02:00:01.000Z", "shop")),
    ];
    for (const some of [events.slice(0, 3), events]) {
      expect(await open.deliver(some, idle, "name-1")).toEqual({ kind: "delivered" });
    }
    const found: Record<string, unknown> = {};
    for (const key of await server.keys())
      found[key] = await eventsOf(key, await server.bytes(key));
    expect(found).toEqual({
      "lake/blog/2026-02-16/02/name-1.jsonl.gz": [{ n: 2 }],
      "lake/shop/2026-02-16/01/name-1.jsonl.gz": [{ n: 0 }],
      "lake/shop/2026-02-16/02/name-1.jsonl.gz": [{ n: 1 }, { n: 3 }],
    });
  });

  test("of Parquet have one schema, whatever user code returns", async () => {
    const open = kind.open({ ...server.config, prefix: "p", format: "parquet" }, "workspace");
    const received = { ...at("2026-02-16T01:00:00.123Z", "shop"), messageId: "m-in", type: "page" };
    const full = {
      messageId: "m",
      type: "track",
      event: "Paid ä🙂",
      userId: "u",
      anonymousId: "a",
    };
    const values = [
      { ...full, properties: { price: 9.5, tags: ["x"], "ä b": null } },
      { name: "Home", userId: 7, anonymousId: "" },
      [1, "two"],
      "text",
      ...Array.from({ length: 2_500 }, (_, n) => ({ ...full, n })),
    ];
    const verdict = await open.deliver(
      values.map((value) => outgoing(value, received)),
      idle,
      "n",
    );
    expect(verdict).toEqual({ kind: "delivered" });
    const rows = await rowsOf(await server.bytes("p/shop/2026-02-16/01/n.parquet"));
    expect(rows.map(({ payload }) => payload)).toEqual(values);
    const receivedAt = new Date("2026-02-16T01:00:00.123Z");
    const none = { message_id: "m-in", type: "page", event: null, user_id: null };
    const columns = { received_at: receivedAt, payload: expect.anything() };
    const ids = { message_id: "m", type: "track", event: "Paid ä🙂", user_id: "u" };
    expect(rows[0]).toEqual({ ...columns, ...ids, anonymous_id: "a" });
    expect(rows[1]).toEqual({ ...columns, ...none, event: "Home", user_id: "7", anonymous_id: "" });
    expect(rows[2]).toEqual({ ...columns, ...none, anonymous_id: null });
  });
});

describeWith(s3Missing)("failures of a store", () => {
  test("an access key that is revoked and restored loses no event", async () => {
    const server = await S3Server.start();
    const open = kind.open(server.config, "workspace");
    await server.kill();
    await server.run("another secret");
    const refused = await open.deliver([outgoing({ n: 1 })], idle, "a");
    expect(refused).toMatchObject({
      kind: "retry",
      reason: "The secret access key does not fit the access key (403 SignatureDoesNotMatch)",
    });
    await server.kill();
    const down = await open.deliver([outgoing({ n: 1 })], idle, "a");
    expect(down.kind).toBe("retry");
    await server.run();
    expect(await open.deliver([outgoing({ n: 1 })], idle, "a")).toEqual({ kind: "delivered" });
    expect((await server.keys()).length).toBe(1);
    await server.end();
  });

  test("a server that crashes during an upload stores no partial object", async () => {
    const server = await S3Server.start();
    const open = kind.open({ ...server.config, batchSize: 10_000 }, "workspace");
    const noise = () => crypto.getRandomValues(new Uint8Array(30_000)).toBase64();
    const events = Array.from({ length: 300 }, (_, n) => outgoing({ n, noise: noise() }));
    let failures = 0;
    for (let round = 0; round < 6; round++) {
      const delivering = open.deliver(events, idle, "torn");
      await Bun.sleep(Math.random() * 150);
      await server.kill();
      if ((await delivering).kind === "retry") failures += 1;
      await server.run();
      for (const key of await server.keys()) {
        expect((await eventsOf(key, await server.bytes(key))).length).toBe(300);
      }
    }
    expect(await open.deliver(events, idle, "torn")).toEqual({ kind: "delivered" });
    expect((await server.keys()).length).toBe(1);
    process.stderr.write(`${failures} uploads of 6 were cut\n`);
    await server.end();
  }, 300_000);

  testWith(mountMissing)("a full disk of the store is a retry and loses no event", async () => {
    const probe = await S3Server.start();
    const bucket = join(probe.buckets, "lake");
    mountDisk(bucket, 256 << 10);
    try {
      const open = kind.open(probe.config, "workspace");
      const noise = crypto.getRandomValues(new Uint8Array(300_000)).toBase64();
      const verdict = await open.deliver([outgoing({ noise })], idle, "big");
      expect(verdict).toMatchObject({
        kind: "retry",
        reason: expect.stringMatching(/^The store /),
      });
      const small = await open.deliver([outgoing({ n: 1 })], idle, "small");
      expect(small).toEqual({ kind: "delivered" });
    } finally {
      await probe.kill();
      unmountDisk(bucket);
      await probe.end();
    }
  });
});

/** The verdict of a delivery to a store that answers so. */
async function verdictOf(
  answer: (socket: Socket) => void,
  timeoutMs = 60_000,
): Promise<DeliveryResult> {
  const sink = new RawSink(answer);
  const endpoint = `http://127.0.0.1:${await sink.listen()}`;
  const keys = { accessKeyId: "a", secretAccessKey: "b" };
  const open = kind.open({ endpoint, bucket: "lake", ...keys, timeoutMs }, "workspace");
  try {
    return await open.deliver([outgoing({ n: 1 })], idle, "name");
  } finally {
    sink.close();
  }
}

function says(status: string, code: string, ...headers: string[]) {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>No</Message></Error>`;
  const head = [`HTTP/1.1 ${status}`, `Content-Length: ${body.length}`, ...headers];
  return (socket: Socket) => void socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
}

test("a source whose objects are refused does not fail the events of others", async () => {
  const stored = new Set<string>();
  const store = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url }) {
      const source = new URL(url).pathname.split("/")[2]!;
      if (source === "refused") return new Response("", { status: 403 });
      stored.add(source);
      return new Response("", { headers: { ETag: '"1"' } });
    },
  });
  const config = { endpoint: `http://127.0.0.1:${store.port}`, bucket: "lake" };
  const keys = { accessKeyId: "a", secretAccessKey: "b" };
  const open = kind.open({ ...config, ...keys }, "workspace");
  const sources = ["one", "refused", "two", "one"];
  let left = sources.map((sourceId) => outgoing({ sourceId }, { sourceId }));
  for (let attempt = 0; attempt < 3; attempt++) {
    const result = await open.deliver(left, idle, "name");
    expect(result).toMatchObject({ kind: "retry", reason: "The store refuses (403)" });
    const { delivered = new Set() } = result as { delivered?: ReadonlySet<number> };
    left = left.filter((_, index) => !delivered.has(index));
  }
  expect(left.map(({ input }) => input.sourceId)).toEqual(["refused"]);
  expect(stored).toEqual(new Set(["one", "two"]));
  await store.stop(true);
});

describe("responses of a store", () => {
  test.each([
    ["503 Slow Down", "SlowDown", "The store asks for fewer requests (503 SlowDown)"],
    ["400 Bad Request", "constructor", "The store refuses (400 constructor)"],
    [
      "403 Forbidden",
      "RequestTimeTooSkewed",
      "The clocks of this server and of the store differ too much (403 RequestTimeTooSkewed)",
    ],
    ["403 Forbidden", "AccessDenied", "The access key lacks the permission (403 AccessDenied)"],
    ["404 Not Found", "NoSuchBucket", "The bucket does not exist (404 NoSuchBucket)"],
    ["507 Full", "InsufficientStorage", "The store is full (507 InsufficientStorage)"],
    ["500 Oops", "Whatever", "The store refuses (500 Whatever)"],
    ["502 Bad Gateway", "<html>", "The store refuses (502)"],
  ])("%s %s is tried again, with a reason", async (status, code, reason) => {
    expect(await verdictOf(says(status, code))).toMatchObject({ kind: "retry", reason });
  });

  test("that are 200 without an ETag are of another server, which has stored nothing", async () => {
    const reason = "The server does not answer as an object store does (200 without ETag)";
    const website = (socket: Socket) =>
      void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    expect(await verdictOf(website)).toMatchObject({ kind: "retry", reason });
  });

  test("with Retry-After delay the retry", async () => {
    const slow = says("503 Slow Down", "SlowDown", "Retry-After: 7");
    expect(await verdictOf(slow)).toMatchObject({ kind: "retry", afterMs: 7_000 });
  });

  test("for a bucket of another region name that region", async () => {
    const moved = says("301 Moved", "PermanentRedirect", "x-amz-bucket-region: eu-west-1");
    const reason = "The bucket is at another endpoint, in eu-west-1 (301 PermanentRedirect)";
    expect(await verdictOf(moved)).toMatchObject({ kind: "retry", reason });
  });

  test("a store that does not respond, or responds endlessly, is aborted at the timeout", async () => {
    const drip = (socket: Socket) => {
      const timer = setInterval(() => {
        if (socket.destroyed) clearInterval(timer);
        else socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      }, 5);
    };
    const reason = "No complete answer within 1500 ms";
    const cut = await Promise.all([() => {}, drip].map((answer) => verdictOf(answer, 1_500)));
    for (const verdict of cut) expect(verdict).toMatchObject({ kind: "retry", reason });
  });
});
