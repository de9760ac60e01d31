import type { Alerting } from "../alerts/alerting.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import type { Definitions } from "../destinations/rudder-server/definition.ts";
import type { FigureRecorder } from "../figures/figure-recorder.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Publisher } from "../publishing/create-publisher.ts";
import type { WorkspaceConfigs } from "./config-backend/workspace-configs.ts";
import type { ApiLimiters } from "./limiters.ts";
import type { RefusedTokens } from "./refused-tokens.ts";
import type { SignOn } from "./sign-in/sign-on.ts";
import type { TailFrames } from "./tail-frames.ts";
import type { TlsListener } from "./tls/tls-listener.ts";

export interface Readiness {
  ready: boolean;
  checks: Record<string, { ok: boolean; message?: string }>;
  /**
   * Warnings about states in which the server works but should not remain, such as
   * `--insecure-sandbox`. Each is one sentence.
   */
  warnings: string[];
}

/**
 * Suspension of a published revision of user code: the revision is not run before `until`
 * (milliseconds since the epoch).
 */
export interface RevisionSuspension {
  transformationVersionId: string;
  name: string;
  until: number;
  reason: string;
}

/** Version, resource use and event retention of the whole server. */
export interface SystemFigures {
  version: string;
  bun: string;
  uptimeSeconds: number;
  processes: { name: string; residentBytes: number; cpuSeconds: number }[];
  /**
   * `alive` counts running guests (confined processes that run user code). `awaited` counts
   * workspaces that wait for a guest.
   */
  guests: { alive: number; awaited: number };
  memory: { totalBytes: number; freeBytes: number };
  /** `used` contains the bytes that each part of the data directory uses, by the part's name. */
  disk: { used: Record<string, number>; freeBytes: number };
  /** Size and retention of the event logs. */
  events: {
    /** Size of the event logs on disk in bytes. */
    bytes: number;
    /** When the oldest event in the logs was received (milliseconds since the epoch). */
    oldestAt: number | undefined;
    /** Age in seconds and size in bytes up to which delivered events are kept. 0 means no limit. */
    retention: { seconds: number; bytes: number };
  };
}

/** The nodes of a cluster, and the partitions that each of them runs. */
export interface ClusterFigures {
  name: string;
  /** Id of the node that answers the request. */
  node: string;
  /** Nodes that are running. Absent while the brokers do not list the nodes. */
  nodes?: {
    id: string;
    version: string;
    controlPlaneUrl: string;
    partitions: number[];
    /** Partitions that the node refused to run when it last joined, with the reason. */
    refused?: { reason: string; partitions: number[] }[];
  }[];
  partitions: {
    partition: number;
    /**
     * Id of the node that delivers the partition's events, or did so last. Absent when no node has
     * done so yet.
     */
    node?: string;
    /**
     * Number of events whose delivery to at least one destination is not finished. Absent while the
     * brokers do not report the number.
     */
    lagEvents?: number;
  }[];
}

/** Sends questions to the other nodes of a cluster, and answers their questions. */
export interface PeerNodes {
  /** Id of this node in the cluster. */
  node: string;
  /** Sends a question to all other nodes. Resolves with their answers after two seconds at most. */
  ask(question: unknown): Promise<{
    /** Answers by the id of the node that sent each. */
    answers: ReadonlyMap<string, unknown>;
    /** Ids of the nodes that did not answer the question in time. */
    missing: string[];
  }>;
  /** Registers the function that answers the questions of other nodes. Called once. */
  answerWith(answer: (question: unknown) => unknown): void;
  /** Returns a sentence about why questions do not reach other nodes. Undefined while they do. */
  trouble?(): string | undefined;
  /** Returns the ids of the other nodes of which a message has arrived in the last seconds. */
  heard?(): ReadonlySet<string>;
  /** Returns the numbers of the partitions whose events this node delivers at present. */
  running?(): number[];
  /** Returns the partitions that are assigned to this node and do not run, with the reason. */
  stopped?(): { partition: number; reason: string }[];
}

/** Dependencies of the control plane, the HTTP listener of the API and the console. */
export interface ApiDeps {
  catalog: Catalog;
  publishing: Publisher;
  pipeline: Pick<
    Pipeline,
    | ("current" | "logEnds" | "deadLetters" | "replays")
    | ("liveTail" | "search" | "outcomes" | "status" | "codeLogs" | "latestOutcomes")
  >;
  /** Figures that this node has not stored yet, and the stored figures of all nodes. */
  figures: Pick<FigureRecorder, "unwritten" | "tables">;
  kinds: ReadonlyMap<string, DestinationKind>;
  /** RudderStack's definitions of the types that rudder-server delivers. */
  definitions: Definitions;
  /**
   * Namespace in which tokens of the first workspace get the configuration of all workspaces.
   * Undefined when there is none.
   */
  namespace?: string | undefined;
  /** Whether requests without a token may read published code, as rudder-transformer does. */
  opensCode?: boolean;
  alerts: Pick<Alerting, "test" | "hasMailServer">;
  /** Returns the free bytes and the size of the disk with the data directory. */
  diskSpace(): { freeBytes: number; sizeBytes: number };
  suspensions(workspaceId: string): RevisionSuspension[];
  /** Time since which a published revision runs and has no result; undefined while it has some. */
  slowCodeSince(versionId: string): number | undefined;
  ready(): Readiness;
  /**
   * Returns a sentence about what requests depend on and the server has not stored yet, such as the
   * first token. Undefined once it has.
   */
  starting(): string | undefined;
  /** Replaces the limit `API_ANSWER_MS_MAX` in tests. */
  answerMsMax?: number;
  metricsText(): Promise<string>;
  system(): Promise<SystemFigures>;
  /**
   * Returns figures about the nodes and partitions of the cluster. Absent on a standalone server.
   */
  nodes?(): Promise<ClusterFigures>;
  /** Sends questions to the other nodes of the cluster. Absent on a standalone server. */
  others?: PeerNodes;
  /** Single sign-on with OpenID Connect. Absent where the settings name no provider. */
  signOn?: SignOn | undefined;
  dataPlaneUrl(): string;
  /**
   * Returns the address of the client that sent a request over a connection from `peer`; for IPv6,
   * the client's network. When `peer` is a trusted proxy, returns the address of the client that
   * `X-Forwarded-For` names.
   */
  clientOf(peer: string, forwardedFor: string): string;
  /**
   * Host names, in lower case, under which browsers and metric scrapers reach the control plane. A
   * port other than the default one of HTTP or HTTPS follows its name, such as `name:8443`.
   */
  hosts: readonly string[];
  version: string;
  /**
   * Language name in responses for Python code that was sent as `pythonfaas`. The value `python` is
   * for rudder-cli, which knows only that name.
   */
  python: "pythonfaas" | "python";
  /**
   * Whether API responses show the values of secret headers of webhook destinations and the secret
   * parts of URLs (`clear`), which Terraform needs, or hide them (`masked`).
   */
  headers: "masked" | "clear";
  /**
   * Average number of requests per second that the tokens of one workspace may send together; 0 is
   * no limit. A burst may use the allowance of `API_BURST_SECONDS` at once.
   */
  requestsPerSecondMax: number;
  /** Called when a client did not complete the TLS handshake with the control plane. */
  onFailedHandshake(): void;
  logger: Logger;
  metrics: Metrics;
}

/**
 * Dependencies of the routes: those of the control plane, and the objects that all its requests
 * share.
 */
export interface RouteDeps extends ApiDeps {
  limiters: ApiLimiters;
  tlsListener: TlsListener;
  tailFrames: TailFrames;
  refusedTokens: RefusedTokens;
  workspaceConfigs: WorkspaceConfigs;
}
