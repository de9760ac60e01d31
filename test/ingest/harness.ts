import { connect, type Socket } from "node:net";
import { Registry } from "prom-client";
import type { Source } from "../../src/catalog/model.ts";
import { eventOf } from "../../src/event/event.ts";
import type { PixelRecord } from "../../src/event/record.ts";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import { createIngestListener, type IngestListenerOptions } from "../../src/ingest/listener.ts";
import type { LogWriter } from "../../src/log/event-log.ts";
import { createLogger } from "../../src/observe/log.ts";

export const WRITE_KEY = "2Lnb-write-key";

export function sourceOf(writeKey: string, enabled: boolean): Source {
  return {
    id: `source-of-${writeKey}`,
    workspaceId: "workspace",
    name: "web",
    type: "http",
    writeKey,
    enabled,
    config: {},
    createdAt: 0,
    updatedAt: 0,
  };
}

/** A listener on a free port whose log is an array. */
export function openListener(parts: Partial<IngestListenerOptions> = {}) {
  const records: PixelRecord[] = [];
  const log: LogWriter<PixelRecord> = {
    append: async (record) => void records.push(record),
    appendAll: async (all) => void records.push(...all),
    durable: () => records.length,
    healthy: () => true,
    failure: () => undefined,
    close: async () => {},
  };
  const sources = [sourceOf(WRITE_KEY, true), sourceOf("disabled", false)];
  const listener = createIngestListener({
    source: (writeKey) => sources.find((source) => source.writeKey === writeKey),
    log,
    trustedProxies: [],
    recordClientAddress: true,
    eventsPerSecondMax: 0,
    outcomes: { stored: 0, refused: 0 },
    received: new Map(),
    metrics: new Registry(),
    logger: createLogger("silent"),
    ...parts,
  });
  const socket = openListeningSocket({ host: "127.0.0.1", port: 0 });
  const { port } = socket;
  listener.start(socket);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    records,
    events: () => records.map((record) => JSON.parse(Buffer.from(eventOf(record).json).toString())),
    configure: listener.configure,
    stop: () => listener.stop(),
  };
}

export interface RawAnswer {
  status: number;
  head: string;
  body: string;
  /** Everything that came, for more than one answer. */
  text: string;
}

/** Sends bytes over TCP, in pieces, and reads until the server closes. */
export async function send(port: number, ...pieces: string[]): Promise<RawAnswer> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const answer = readAll(socket);
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await Bun.sleep(1);
    socket.write(Buffer.from(piece, "latin1"));
  }
  return answer;
}

export function readAll(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    // A reset is a close too.
    socket.on("error", () => {});
    socket.on("close", () => {
      const text = Buffer.concat(chunks).toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      resolve({
        status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0),
        head: text.slice(0, end),
        body: text.slice(end + 4),
        text,
      });
    });
  });
}

export function get(target: string, headers = ""): string {
  return `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`;
}
