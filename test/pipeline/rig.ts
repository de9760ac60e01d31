import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import type { DeadLetter } from "../../src/pipeline/model/dead-letter.ts";
import { createPipeline, type Pipeline, type PipelineParts } from "../../src/pipeline/pipeline.ts";
import { decode, eventOf, FakeLive, FakeSandbox, MemoryLog } from "./doubles.ts";

export { until } from "../until.ts";

/** A pipeline over doubles of the catalog, log and sandbox, with real destinations and ledger. */
export class Rig {
  readonly directory = mkdtempSync(join(tmpdir(), "pipeline-"));
  readonly live = new FakeLive();
  readonly log = new MemoryLog();
  readonly sandbox = new FakeSandbox();
  readonly egress = createEgress({ allow: ["127.0.0.0/8"] });
  readonly kinds = destinationKinds({ directory: this.directory, egress: this.egress });
  readonly sinks: Sink[] = [];
  #pipeline: Pipeline | undefined;

  constructor() {
    this.live.addSource();
  }

  get pipeline(): Pipeline {
    if (this.#pipeline === undefined) throw new Error("The pipeline is not started");
    return this.#pipeline;
  }

  start(over: Partial<PipelineParts> = {}): Pipeline {
    const logger = pino({ level: process.env.RIG_LOG ?? "silent" });
    this.#pipeline = createPipeline({
      live: this.live,
      sandbox: this.sandbox,
      readers: new Map([["0", this.log]]),
      decode,
      eventOf,
      timeOf: (bytes) => decode(bytes).receivedAt,
      kinds: this.kinds,
      ledger: openLedger(join(this.directory, "delivery"), logger),
      onDurable: this.log.onDurable,
      retryWindowMs: 3_600_000,
      logger,
      metrics: new Registry(),
      ...over,
    });
    return this.#pipeline;
  }

  async stop(): Promise<void> {
    await this.#pipeline?.close();
    this.#pipeline = undefined;
  }

  /** A webhook destination to a new sink, connected to the source. */
  webhook(id: string, answer?: Answer, config: Record<string, unknown> = {}): Sink {
    const sink = new Sink(answer);
    this.sinks.push(sink);
    this.live.putDestination(id, { config: { webhookUrl: sink.url, ...config } });
    this.live.connect(id);
    return sink;
  }

  async end(): Promise<void> {
    await this.stop();
    for (const sink of this.sinks) sink.close();
    this.egress.close();
    rmSync(this.directory, { recursive: true });
  }
}

export type Received = { n: number; anonymousId: string } & Record<string, unknown>;
type Answer = (events: Received[], request: Request) => Response | Promise<Response>;

/** A real HTTP server that notes what it took: answers below 300 count as taken. */
export class Sink {
  readonly taken: Received[] = [];
  requests = 0;
  answer: Answer;
  readonly #server: Bun.Server<undefined>;

  constructor(answer: Answer = () => new Response("ok")) {
    this.answer = answer;
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => this.#take(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/`;
  }

  numbers(): number[] {
    return this.taken.map(({ n }) => n);
  }

  close(): void {
    this.#server.stop(true);
  }

  async #take(request: Request): Promise<Response> {
    this.requests += 1;
    const body = (await request.json()) as Received | Received[];
    const events = Array.isArray(body) ? body : [body];
    const response = await this.answer(events, request);
    if (response.ok) this.taken.push(...events);
    return response;
  }
}

/** 0, 1, … n − 1 */
export function numbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

export function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** All dead letters of the doubles' workspace, page by page. */
export function lettersOf({ deadLetters }: Pipeline): DeadLetter[] {
  const letters: DeadLetter[] = [];
  for (;;) {
    const after = letters.at(-1)?.id ?? "";
    const page = deadLetters.find("workspace", { after, count: 1_000 }).letters;
    if (page.length === 0) return letters;
    letters.push(...page);
  }
}
