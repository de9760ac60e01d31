import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApi } from "../../src/api/api.ts";
import { type Client, createClient } from "../../src/api/client.ts";
import type { ApiParts, Readiness } from "../../src/api/parts.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { type Kind, type Permission, permissions } from "../../src/catalog/model.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { createEgress } from "../../src/destinations/egress.ts";
import { destinationKinds } from "../../src/destinations/kinds.ts";
import { createLogger } from "../../src/observe/log.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import type { DeadLetters, TapMessage } from "../../src/pipeline/pipeline.ts";
import type { Publishing } from "../../src/publishing/publishing.ts";

/** A control plane on a socket, over a real catalog, with an admin of a workspace of its own. */
export interface TestApi {
  url: string;
  catalog: Catalog;
  workspaceId: string;
  token: string;
  client: Client;
  readiness: Readiness;
  /** Lines that the server logged as errors: what nobody foresaw. */
  failures: unknown[];
  /** Tells every live tail of a workspace. */
  tell(workspaceId: string, message: TapMessage): void;
  followers(): number;
  tokenWith(permissions: Permission[], workspaceId?: string): Promise<string>;
  send(method: string, path: string, sent?: Sent): Promise<Received>;
  stop(): Promise<void>;
}

export interface Sent {
  /** JSON, unless it is text or bytes already. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Null sends none. */
  token?: string | null;
}

export interface Received {
  status: number;
  headers: Headers;
  text: string;
  body: any;
}

export async function startApi(more: Partial<ApiParts> = {}): Promise<TestApi> {
  const directory = await mkdtemp(join(tmpdir(), "pixelmill-api-"));
  const logger = createLogger("silent");
  const failures: unknown[] = [];
  logger.error = ((line: unknown) => failures.push(line)) as typeof logger.error;
  const metrics = createMetrics();
  const catalog = await openCatalog({ directory: join(directory, "catalog"), logger });
  const workspace = await catalog.workspaces.create("Acme");
  const taps = new Set<{ workspaceId: string; receive: (message: TapMessage) => void }>();
  const readiness: Readiness = { ready: true, checks: { log: { ok: true } }, warnings: [] };

  const api = createApi({
    catalog,
    publishing: untestedPublishing(catalog),
    pipeline: {
      tails: () => ({}),
      deadLetters: noDeadLetters,
      tap: {
        subscribe(workspaceId, receive) {
          const tap = { workspaceId, receive };
          taps.add(tap);
          return () => taps.delete(tap);
        },
      },
    },
    kinds: destinationKinds({
      directory,
      egress: createEgress({ allow: ["127.0.0.0/8"] }),
    }),
    ready: () => readiness,
    metricsText: () => metrics.metrics(),
    dataPlaneUrl: () => "http://127.0.0.1:8080",
    version: "0.0.0",
    logger,
    metrics,
    ...more,
  });
  const url = await api.start({ host: "127.0.0.1", port: 0 });

  async function tokenWith(granted: Permission[], workspaceId = workspace.id): Promise<string> {
    const input = { name: "test", permissions: granted };
    return (await catalog.tokens.create(workspaceId, input)).secret;
  }
  const token = await tokenWith([...permissions]);

  return {
    url,
    catalog,
    workspaceId: workspace.id,
    token,
    client: createClient({ baseUrl: url, token }),
    readiness,
    failures,
    tell(workspaceId, message) {
      for (const tap of taps) if (tap.workspaceId === workspaceId) tap.receive(message);
    },
    followers: () => taps.size,
    tokenWith,
    async send(method, path, sent = {}) {
      const bearer = sent.token === undefined ? token : sent.token;
      const response = await fetch(url + path, {
        method,
        redirect: "manual",
        headers: {
          ...(bearer !== null && { Authorization: `Bearer ${bearer}` }),
          ...(sent.body !== undefined && { "Content-Type": "application/json" }),
          ...sent.headers,
        },
        ...(sent.body !== undefined && { body: encoded(sent.body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: parsed(text) };
    },
    async stop() {
      await api.stop();
      await catalog.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function encoded(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === "string" ? body : JSON.stringify(body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Publishing as far as the catalog goes: the code is stored and published, and never run. */
function untestedPublishing({ code }: Catalog): Publishing {
  return {
    async create(workspaceId, kind, { publish, destinationIds = [], ...input }) {
      const revision = code.draft(workspaceId, kind, input);
      const { id, versionId } = revision;
      await code.commit(workspaceId, {
        revisions: [revision],
        publish: publish ? [{ kind, id, versionId, imports: [] }] : [],
        links: destinationIds.map((destinationId) => ({ transformationId: id, destinationId })),
        seen: [],
        externalIds: input.externalId ? [{ kind, id, externalId: input.externalId }] : [],
      });
      return { resource: code.resource(workspaceId, kind, id), revision };
    },
    async update(workspaceId, kind, id, { publish, destinationIds = [], ...input }) {
      const revision = code.amend(workspaceId, kind, id, input);
      const { versionId } = revision;
      await code.commit(workspaceId, {
        revisions: [revision],
        publish: publish ? [{ kind, id, versionId, imports: [] }] : [],
        links: destinationIds.map((destinationId) => ({ transformationId: id, destinationId })),
        seen: [],
      });
      return { resource: code.resource(workspaceId, kind, id), revision };
    },
    async publish(workspaceId, { transformations, libraries }) {
      const items = (kind: Kind, list: { versionId: string }[]) =>
        list.map(({ versionId }) => code.revisionByVersion(workspaceId, kind, versionId));
      const revisions = [
        ...items("library", libraries),
        ...items("transformation", transformations),
      ];
      await code.commit(workspaceId, {
        revisions: [],
        publish: revisions.map(({ kind, id, versionId }) => ({ kind, id, versionId, imports: [] })),
        links: [],
        seen: [],
      });
      return { published: true };
    },
    test: async () => ({ successTestResults: [], failedTestResults: [] }),
    runSuites: async () => ({
      pass: true,
      validationOutput: { libraries: [], transformations: [] },
    }),
  };
}

const noDeadLetters: DeadLetters = {
  list: () => [],
  get: () => undefined,
  count: () => 0,
  replay: async () => ({ replayed: 0 }),
  purge: async () => ({ purged: 0 }),
};
