/**
 * Floor of bench/cluster-nodes.ts: one process that answers pixels once a majority of the brokers
 * has them, and sends each to a webhook in arrays of up to 100, with a plain Kafka library. It
 * builds no events, runs no user code, keeps no order of users, and repeats nothing. Prints its
 * port once it consumes. Without a topic it answers at once and uses no broker, which shows what
 * the brokers cost.
 *
 *   bun bench/cluster-floor.ts WEBHOOK BROKERS [TOPIC]
 */
import { Consumer, Producer } from "@platformatic/kafka";
import { gifAnswer } from "./gif-server.ts";

const EVENTS_PER_REQUEST = 100;
const [webhook, brokers, topic] = process.argv.slice(2);
const bootstrapBrokers = brokers!.split(",");
const producer = new Producer({ clientId: "floor", bootstrapBrokers, idempotent: true });

/** Value of a query parameter that another one follows, or that ends the URL. */
function parameter(url: string, name: string): string {
  const start = url.indexOf(`${name}=`) + name.length + 1;
  const end = url.indexOf("&", start);
  return url.slice(start, end < 0 ? undefined : end);
}

let waiting: string[] = [];
let produced = Promise.withResolvers<void>();
let isProducing = false;

/** Pixels that arrive while a request is in flight share the next one. */
async function produce(): Promise<void> {
  isProducing = true;
  while (waiting.length > 0) {
    const messages = waiting.map((url) => ({
      topic: topic!,
      key: Buffer.from(parameter(url, "userId")),
      value: Buffer.from(url),
    }));
    const { resolve } = produced;
    waiting = [];
    produced = Promise.withResolvers();
    await producer.send({ messages, idempotent: true });
    resolve();
  }
  isProducing = false;
}

const consumed: string[] = [];
let isSending = false;

async function send(): Promise<void> {
  isSending = true;
  while (consumed.length > 0) {
    const body = `[${consumed.splice(0, EVENTS_PER_REQUEST).join(",")}]`;
    const headers = { "content-type": "application/json" };
    const answer = await fetch(webhook!, { method: "POST", headers, body });
    await answer.arrayBuffer();
  }
  isSending = false;
}

function take(url: string): void {
  consumed.push(JSON.stringify({ url, t0: parameter(url, "properties.t0") }));
  if (!isSending) void send();
}

if (topic !== undefined) {
  const consumer = new Consumer({ clientId: "floor", groupId: topic, bootstrapBrokers });
  const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: 1_000 });
  stream.on("data", ({ value }) => take(value!.toString()));
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch({ url }) {
    if (topic === undefined) {
      take(url);
      return gifAnswer();
    }
    waiting.push(url);
    const { promise } = produced;
    if (!isProducing) void produce();
    await promise;
    return gifAnswer();
  },
});
process.stdout.write(`${server.port}\n`);
