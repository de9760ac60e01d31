import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileKind } from "../src/destinations/file/file.ts";
import { s3Kind } from "../src/destinations/s3/s3.ts";
import type { Egress } from "../src/egress/egress.ts";
import { eventsOf } from "../test/destinations/formats.ts";
import { S3Server, s3Missing } from "../test/destinations/s3/s3-server.ts";
import { type Case, familyCpu, type Running } from "./destination-cases.ts";

const linesOf = (events: readonly Uint8Array[]) =>
  Buffer.concat(events.flatMap((event) => [event, Buffer.from("\n")]));

/** Milliseconds from the property `sent` of each event to the modification time of its file. */
async function latenciesBelow(directory: string): Promise<number[]> {
  const names = readdirSync(directory, { recursive: true }).map(String);
  const found: number[] = [];
  for (const name of names.filter((it) => it.endsWith(".gz"))) {
    const path = join(directory, name);
    for (const event of await eventsOf(name, readFileSync(path))) {
      const { sent } = (event as { properties: { sent?: number } }).properties;
      if (sent !== undefined) found.push(statSync(path).mtimeMs - Number(sent));
    }
  }
  return found;
}

async function startS3(egress: Egress, over: Record<string, unknown>): Promise<Running> {
  const server = await S3Server.start();
  const client = server.client;
  return {
    kind: s3Kind(egress),
    config: { ...server.config, ...over },
    /** Writes with Bun's native S3 client and its fastest compressor at the same level. */
    async plain(events) {
      const body = Bun.gzipSync(new Uint8Array(linesOf(events)), { level: 4 });
      await client.write(`plain/${crypto.randomUUID()}.jsonl.gz`, body);
      return 0;
    },
    serverCpu: () => familyCpu(server.pid),
    stamp: async () => {},
    latencies: () => latenciesBelow(server.buckets),
    end: () => server.end(),
  };
}

async function startFile(over: Record<string, unknown>): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-file-"));
  const plain = openSync(join(directory, "plain"), "a");
  return {
    kind: fileKind(directory),
    config: { path: "in/events.jsonl", ...over },
    async plain(events) {
      appendFileSync(plain, linesOf(events));
      fdatasyncSync(plain);
      return 0;
    },
    serverCpu: () => 0,
    stamp: async () => {},
    latencies: async () => [],
    async end() {
      closeSync(plain);
      rmSync(directory, { recursive: true });
    },
  };
}

const put = { plainly: "gzip, PutObject", missing: s3Missing };
const write = { plainly: "write, fdatasync", missing: undefined };

export const objectCases: Case[] = [
  { name: "s3", ...put, start: (egress) => startS3(egress, {}) },
  { name: "s3 parquet", ...put, start: (egress) => startS3(egress, { format: "parquet" }) },
  { name: "file", ...write, start: () => startFile({}) },
  { name: "file parquet", ...write, start: () => startFile({ format: "parquet" }) },
];
