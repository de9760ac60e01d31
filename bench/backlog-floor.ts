/**
 * Floor of bench/backlog.ts: reads all events of a data directory's log, builds them, and writes
 * them to a receiver with a plain library, which checks nothing. With user code, a process without
 * a sandbox runs it on a batch at a time, which it parses and returns as JSON. Prints the CPU time
 * per event in µs of the second pass, of both processes; nothing for a kind of receiver without a
 * plain library.
 *
 *   bun bench/backlog-floor.ts DATA webhook|s3|kafka CONFIG [JAVASCRIPT]
 */
import { closeSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Producer } from "@platformatic/kafka";
import { gzipSync, S3Client } from "bun";
import type { BuiltEvent } from "../src/event/built-event.ts";
import { eventOf } from "../src/event/event.ts";
import { decodeRecord } from "../src/event/record.ts";
import { LossReport } from "../src/log/loss-report.ts";
import { openLogReader } from "../src/log/reader.ts";
import { createLogger } from "../src/observe/log.ts";
import { GuestSocket, socketPair } from "../src/sandbox/process/guest-socket.ts";
import { cpuByPart } from "./cpu.ts";

const READ_BYTES = 256 << 10;
const [data, type, text, code] = process.argv.slice(2);
const config = JSON.parse(text!);

interface Writer {
  batchSize: number;
  write(events: readonly BuiltEvent[]): Promise<unknown>;
}

const newline = Buffer.from("\n");
const comma = Buffer.from(",");
const joined = (events: readonly BuiltEvent[], separator: Buffer) =>
  Buffer.concat(events.flatMap(({ json }) => [json, separator]));

const writers: Record<string, () => Writer> = {
  webhook: () => ({
    batchSize: config.batchSize,
    async write(events) {
      const list = joined(events, comma);
      const array = Buffer.concat([Buffer.from("["), list.subarray(0, -1), Buffer.from("]")]);
      const asked = config.batchSize === 1 ? events[0]!.json : array;
      const body = transform === undefined ? asked : await transform(asked);
      const headers = { "content-type": "application/json" };
      const answer = await fetch(config.webhookUrl, { method: "POST", headers, body });
      await answer.arrayBuffer();
    },
  }),
  s3: () => {
    const client = new S3Client({ ...config, region: "us-east-1" });
    return {
      batchSize: 10_000,
      write: (events) => {
        const body = gzipSync(new Uint8Array(joined(events, newline)), { level: 4 });
        return client.write(`floor/${crypto.randomUUID()}.jsonl.gz`, body);
      },
    };
  },
  kafka: () => {
    const producer = new Producer({
      clientId: "floor",
      bootstrapBrokers: [config.brokers],
      idempotent: true,
    });
    return {
      batchSize: 1_000,
      write: (events) => {
        const messages = events.map(({ json, user }) => {
          return { topic: config.topic, key: Buffer.from(user), value: Buffer.from(json) };
        });
        return producer.send({ messages, idempotent: true });
      },
    };
  },
};

/** Starts the process that runs user code. Returns a function that runs it on an array of events. */
function startCode(code: string): (events: Uint8Array) => Promise<Buffer> {
  const [fd, childFd] = socketPair();
  Bun.spawn([process.execPath, `${import.meta.dir}/backlog-floor-code.ts`, code], {
    stdin: childFd,
    stdout: childFd,
  });
  closeSync(childFd);
  const waiting: ((answer: Buffer) => void)[] = [];
  let parts: Buffer[] = [];
  const socket = new GuestSocket(fd, {
    onChunk(chunk) {
      let start = 0;
      for (;;) {
        const newlineAt = chunk.indexOf(newline, start);
        if (newlineAt < 0) break;
        parts.push(chunk.subarray(start, newlineAt));
        waiting.shift()!(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
        parts = [];
        start = newlineAt + 1;
      }
      if (start < chunk.length) parts.push(chunk.subarray(start));
    },
    onEnd: () => process.exit(1),
  });
  return (events) => {
    socket.send(Buffer.from(events.buffer as ArrayBuffer, events.byteOffset, events.length));
    socket.send(newline);
    return new Promise((resolve) => waiting.push(resolve));
  };
}

/** Writes all events of a log, with up to eight requests at a time. Resolves with their number. */
async function copy(directory: string, { batchSize, write }: Writer): Promise<number> {
  const reader = await openLogReader({
    directory,
    losses: new LossReport({ logger: createLogger("error") }),
  });
  // The writer keeps the end of its log there; beyond it the reader would report missing records.
  reader.advance(readFileSync(join(directory, "durable")).readDoubleLE());
  const writes = new Set<Promise<unknown>>();
  let batch: BuiltEvent[] = [];
  let count = 0;
  const flush = async () => {
    const writing = write(batch).finally(() => writes.delete(writing));
    writes.add(writing);
    batch = [];
    if (writes.size >= (batchSize >= 1_000 ? 1 : 8)) await Promise.race(writes);
  };
  for (let at = reader.first(); ; ) {
    const { records, next } = await reader.read(at, READ_BYTES);
    if (records.length === 0) break;
    for (const { bytes } of records) {
      batch.push(eventOf(decodeRecord(bytes)));
      count++;
      if (batch.length >= batchSize) await flush();
    }
    at = next;
  }
  if (batch.length > 0) await flush();
  await Promise.all(writes);
  await reader.close();
  return count;
}

const transform = code === undefined ? undefined : startCode(code);
const cpuMicroseconds = () => {
  const { server, guests } = cpuByPart(process.pid);
  return server + guests;
};
const start = writers[type!];
if (start !== undefined) {
  const writer = start();
  const logs = join(data!, "events");
  let cost = 0;
  for (let pass = 0; pass < 2; pass++) {
    const cpu = cpuMicroseconds();
    let count = 0;
    for (const name of readdirSync(logs)) count += await copy(join(logs, name), writer);
    cost = (cpuMicroseconds() - cpu) / count;
  }
  process.stdout.write(String(cost));
}
process.exit(0);
