import { afterAll, expect, test } from "bun:test";
import { clickhouseKind } from "../../src/destinations/clickhouse/clickhouse.ts";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { kafkaKind } from "../../src/destinations/kafka/kafka.ts";
import { postgresKind } from "../../src/destinations/postgres/postgres.ts";
import { s3Kind } from "../../src/destinations/s3/s3.ts";
import { webhookKind } from "../../src/destinations/webhook/webhook.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { RawSink } from "../egress/sink.ts";

const egress = createEgress({ allow: ["127.0.0.0/8"] });
const sink = new RawSink((socket) => socket.destroy());
const port = await sink.listen();
afterAll(() => {
  sink.close();
  egress.close();
});

const hostOf = (at: string) => ({ host: at.split(":")[0], port: Number(at.split(":")[1]) });
const user = { user: "u", password: "p", database: "d" };
const keys = { bucket: "b", accessKeyId: "a", secretAccessKey: "s" };
/** For each kind the config for a server, and the step that its first answer decides. */
const kinds: [string, DestinationKind, (address: string) => object, string][] = [
  ["webhook", webhookKind(egress), (at) => ({ webhookUrl: `http://${at}` }), "write"],
  ["clickhouse", clickhouseKind(egress), (at) => ({ url: `http://${at}`, ...user }), "sign-in"],
  ["s3", s3Kind(egress), (at) => ({ endpoint: `http://${at}`, ...keys }), "sign-in"],
  ["postgres", postgresKind(egress), (at) => ({ ...hostOf(at), tls: "off", ...user }), "sign-in"],
  ["kafka", kafkaKind(egress), (brokers) => ({ brokers, topic: "t", tls: "off" }), "sign-in"],
];

test.each(kinds)("a connection test names the step that failed: %s", async (...given) => {
  const [, kind, configOf, decided] = given;
  const stepsAt = async (address: string) => {
    const { signal } = new AbortController();
    const done = await kind.test(configOf(address) as never, "workspace", signal);
    return done.map(({ step, ok }) => (ok ? step : `${step} failed`));
  };
  expect(await stepsAt("nowhere.invalid:80")).toEqual(["resolve failed"]);
  expect(await stepsAt("127.0.0.1:1")).toEqual(["resolve", "connect failed"]);
  expect(await stepsAt(`127.0.0.1:${port}`)).toEqual(["resolve", "connect", `${decided} failed`]);
});

test.each(kinds.filter(([name]) => name !== "webhook"))(
  "a web server that answers 200 to all passes no connection test: %s",
  async (...given) => {
    const [, kind, configOf] = given;
    const website = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
    const { signal } = new AbortController();
    const config = configOf(`127.0.0.1:${website.port}`);
    const failed = (await kind.test(config as never, "workspace", signal)).at(-1);
    await website.stop(true);
    expect(failed).toMatchObject({
      ok: false,
      message: expect.stringMatching(/does not answer as/),
    });
  },
);

test.each([
  [
    "webhook",
    (at: string) => ({ webhookUrl: `https://${at}` }),
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "does not speak TLS on this port",
  ],
  [
    "webhook",
    (at: string) => ({ webhookUrl: `HTTPS://${at}` }),
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "does not speak TLS on this port",
  ],
  ["postgres", (at: string) => ({ ...hostOf(at), ...user }), "N", "does not offer TLS"],
  [
    "postgres",
    (at: string) => ({ ...hostOf(at), ...user }),
    "HTTP/1.1 400",
    "does not answer as PostgreSQL does",
  ],
  ["kafka", (brokers: string) => ({ brokers, topic: "t" }), "", "may not speak TLS on this port"],
])("a server without TLS is named as one: %s", async (name, configOf, answer, reason) => {
  const plain = new RawSink((socket) => (answer === "" ? socket.destroy() : socket.end(answer)));
  const [, kind] = kinds.find(([it]) => it === name)!;
  const { signal } = new AbortController();
  const config = configOf(`127.0.0.1:${await plain.listen()}`);
  const failed = (await kind.test(config as never, "workspace", signal)).at(-1);
  plain.close();
  expect(failed).toMatchObject({ step: "tls", message: expect.stringContaining(reason) });
});

test("a redirect of a webhook is named as one that is not followed", async () => {
  const moved = new RawSink((socket) => socket.end("HTTP/1.1 308 Moved\r\n\r\n"));
  const webhookUrl = `http://127.0.0.1:${await moved.listen()}`;
  const { signal } = new AbortController();
  const failed = (await webhookKind(egress).test({ webhookUrl }, "workspace", signal)).at(-1);
  moved.close();
  expect(failed?.message).toBe("HTTP 308 from receiver; redirects are not followed");
});
