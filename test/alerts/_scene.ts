import type { ApiDeps, RevisionSuspension } from "../../src/api/deps.ts";
import type { LetterGroup } from "../../src/pipeline/model/dead-letter.ts";
import type { LaneStatus } from "../../src/pipeline/monitoring/lane-status.ts";

import { startApi, type TestApi, type TestApiOptions } from "../api/_setup.ts";

export { until } from "../until.ts";

/** A local HTTP server that collects what it gets. */
export interface TestReceiver {
  url: string;
  got: { path: string; headers: Headers; body: any }[];
  /** Answers to come. The default is 200. */
  answer(respond: (request: Request) => Response | Promise<Response>): void;
  stop(): void;
}

export function startReceiver(): TestReceiver {
  const got: TestReceiver["got"] = [];
  let respond: (request: Request) => Response | Promise<Response> = () => new Response("ok");
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const body = await request.json().catch(() => undefined);
      got.push({ path: new URL(request.url).pathname, headers: request.headers, body });
      return respond(request);
    },
  });
  return {
    url: server.url.href,
    got,
    answer(given) {
      respond = given;
    },
    stop: () => void server.stop(true),
  };
}

/** Facts that a test sets, in place of those of a real pipeline. */
export interface TestFacts {
  lane: Partial<LaneStatus>;
  deadLetters: number;
  groups: LetterGroup[];
  suspensions: RevisionSuspension[];
  disk: { freeBytes: number; sizeBytes: number };
}

export interface AlertScene {
  api: TestApi;
  facts: TestFacts;
  ids: { source: string; destination: string; transformation: string };
  /** Lets the clock run by steps of 10 s, and evaluates the rules after each. */
  pass(seconds: number): Promise<void>;
  call(method: string, path: string, body?: unknown): Promise<any>;
}

export interface SceneOptions extends TestApiOptions {
  /** Wall clock. */
  now?(): number;
  more?: Partial<ApiDeps>;
  /** Facts that several nodes share. */
  facts?: TestFacts;
}

export function quietFacts(): TestFacts {
  return {
    lane: {},
    deadLetters: 0,
    groups: [],
    suspensions: [],
    disk: { freeBytes: 50e9, sizeBytes: 100e9 },
  };
}

/** A control plane whose pipeline reports the facts that the test sets. */
export async function startNode(options: SceneOptions = {}) {
  const { facts = quietFacts(), now = Date.now, more, ...rest } = options;
  const clock = { ms: 0 };
  const rates = { received: 1, delivered: 1, dropped: 0, failed: 0 };
  const pipeline = {
    current: async () => {},
    logEnds: async () => ({}),
    deadLetters: { count: () => facts.deadLetters, groups: () => facts.groups },
    minuteCounts: () => [],
    status: (): LaneStatus => ({
      lagEvents: 0,
      lagSeconds: 0,
      isWaiting: false,
      isRejecting: false,
      rates: catalogSources().map((sourceId) => ({ sourceId, ...rates })),
      ...facts.lane,
    }),
  } as unknown as ApiDeps["pipeline"];
  const api = await startApi(
    { pipeline, suspensions: () => facts.suspensions, diskSpace: () => facts.disk, ...more },
    { alertClock: { elapsed: () => clock.ms, now }, ...rest },
  );
  const catalogSources = () =>
    api.catalog.sources.list(api.workspaceId, 1).items.map(({ id }) => id);
  return {
    api,
    facts,
    async pass(seconds: number) {
      for (let left = seconds; left > 0; left -= 10) {
        clock.ms += 10_000;
        await api.evaluateAlerts();
      }
    },
    async call(method: string, path: string, body?: unknown) {
      const { status, text, body: answer } = await api.send(method, path, { body });
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
      return answer;
    },
  };
}

/** A node with a source, a destination and a transformation. */
export async function startAlertScene(options: SceneOptions = {}): Promise<AlertScene> {
  const node = await startNode(options);
  const { call } = node;
  const { source } = await call("POST", "/v2/sources", { name: "Website", type: "http" });
  const { destination } = await call("POST", "/v2/destinations", {
    name: "Warehouse",
    type: "webhook",
    config: { webhookUrl: "http://127.0.0.1:9/" },
  });
  await call("POST", "/v2/connections", { sourceId: source.id, destinationId: destination.id });
  const transformation = await call("POST", "/transformations?publish=true", {
    name: "Enrich",
    language: "javascript",
    code: "export function transformEvent(event) { return event; }",
    destinationIds: [destination.id],
  });
  return {
    ...node,
    ids: { source: source.id, destination: destination.id, transformation: transformation.id },
  };
}
