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
   * Sentences about conditions that the operator should correct although the server works, such as
   * running with `--insecure-sandbox`.
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

/**
 * State of the whole server: its version, its use of memory and disk, and how long it keeps events.
 */
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
  /** `used` maps the name of each part of the data directory to the part's number of bytes. */
  disk: { used: Record<string, number>; freeBytes: number };
  /** Size and retention of the event logs. */
  events: {
    /** Size of the event logs on disk in bytes. */
    bytes: number;
    /** When the oldest event in the logs was received (milliseconds since the epoch). */
    oldestAt: number | undefined;
    /** Maximum age (s) and size (bytes) for keeping delivered events in the logs; 0 is no limit. */
    retention: { seconds: number; bytes: number };
  };
}

/** Nodes of a cluster, and the partitions of its event log with the node that delivers each. */
export interface ClusterFigures {
  name: string;
  /** Id of the node that answers the request. */
  node: string;
  /** The running nodes. Absent while the Kafka brokers do not list them. */
  nodes?: {
    id: string;
    version: string;
    controlPlaneUrl: string;
    partitions: number[];
    /** Partitions that the node `id` refused to run when it last joined the cluster, by reason. */
    refused?: { reason: string; partitions: number[] }[];
  }[];
  partitions: {
    partition: number;
    /**
     * Id of the node that delivers the partition's events or was the last to deliver them. Absent
     * if no node has delivered any.
     */
    node?: string;
    /**
     * Estimated number of the partition's events that still wait for delivery to one or more
     * destinations. Absent while the broker that leads the partition does not answer.
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
    /** Answers of the other nodes to the question, by the id of the node. */
    answers: ReadonlyMap<string, unknown>;
    /** Ids of the other nodes that did not answer this question in time. */
    missing: string[];
  }>;
  /** Registers the function that answers the questions of other nodes. Called once. */
  answerWith(answer: (question: unknown) => unknown): void;
  /**
   * Returns a sentence about why questions do not reach other nodes. Undefined while questions do
   * reach them.
   */
  trouble?(): string | undefined;
  /** Returns the ids of the other nodes from which a message has arrived recently. */
  heard?(): ReadonlySet<string>;
  /** Returns the numbers of the partitions whose events this node delivers at present. */
  running?(): number[];
  /** Returns the partitions that are assigned to this node but do not run, each with the reason. */
  stopped?(): { partition: number; reason: string }[];
}

/** Objects and functions that the control plane (HTTP listener of API and console) needs. */
export interface ApiDeps {
  catalog: Catalog;
  publishing: Publisher;
  pipeline: Pick<
    Pipeline,
    | ("current" | "logEnds" | "deadLetters" | "replays")
    | ("liveTail" | "search" | "outcomes" | "status" | "codeLogs" | "latestOutcomes")
  >;
  /**
   * Figures per minute, such as counts of events. `unwritten` returns the figures of this node that
   * are not stored yet. `tables` returns the tables with the stored figures of all nodes.
   */
  figures: Pick<FigureRecorder, "unwritten" | "tables">;
  kinds: ReadonlyMap<string, DestinationKind>;
  /** RudderStack's descriptions of the source and destination types that rudder-server supports. */
  definitions: Definitions;
  /**
   * Name of the RudderStack namespace that contains all workspaces. With this name and a token of
   * the oldest workspace, a rudder-server can request all configurations. Absent if the setting
   * `rudderstack.namespace` is not set.
   */
  namespace?: string | undefined;
  /**
   * Whether the server gives published code to requests without a token. A rudder-transformer to
   * which the operator gave no token sends such requests.
   */
  opensCode?: boolean;
  alerts: Pick<Alerting, "test" | "hasMailServer">;
  /** Returns the free bytes and the size of the disk with the data directory. */
  diskSpace(): { freeBytes: number; sizeBytes: number };
  suspensions(workspaceId: string): RevisionSuspension[];
  /**
   * Returns a workspace's slow revisions: those that have run for `CODE_SLOW_MS` without success
   * for any event. Maps `versionId` to the beginning of this time, in milliseconds since the epoch.
   */
  slowCode(workspaceId: string): ReadonlyMap<string, number>;
  ready(): Readiness;
  /**
   * Returns an error message while the server is starting, for requests that need stored data such
   * as the first token. Returns undefined after the start.
   */
  starting(): string | undefined;
  /** Maximum milliseconds to answer a request. Only tests set it. Default: `API_ANSWER_MS_MAX`. */
  answerMsMax?: number;
  metricsText(): Promise<string>;
  system(): Promise<SystemFigures>;
  /** Returns the nodes and partitions of the cluster. Absent on a standalone server. */
  nodes?(): Promise<ClusterFigures>;
  /** Sends questions to the other nodes of the cluster. Absent on a standalone server. */
  others?: PeerNodes;
  /** Single sign-on with OpenID Connect. Absent where the settings name no provider. */
  signOn?: SignOn | undefined;
  dataPlaneUrl(): string;
  /**
   * Returns the address of the client whose request came over a connection from `peer`: the
   * client's address in `X-Forwarded-For` if `peer` is a trusted proxy, `peer` itself otherwise. An
   * IPv6 address is shortened to its network.
   */
  clientOf(peer: string, forwardedFor: string): string;
  /**
   * Host names, in lower case, under which browsers and metric scrapers reach the control plane. If
   * the port is not the default one of HTTP or HTTPS, it is part of the name, such as `name:8443`.
   */
  hosts: readonly string[];
  version: string;
  /**
   * How responses name the language of Python code that a client uploaded as `pythonfaas`.
   * rudder-cli knows only the name `python`.
   */
  python: "pythonfaas" | "python";
  /**
   * Whether responses mask secret headers of webhook destinations and secret parts of URLs
   * (`masked`), or show them (`clear`). Terraform needs `clear`.
   */
  headers: "masked" | "clear";
  /**
   * Average number of requests per second that the tokens of one workspace may send together; 0 is
   * no limit. A burst may contain as many requests as the average allows in `API_BURST_SECONDS`.
   */
  requestsPerSecondMax: number;
  /** Called when a client did not complete the TLS handshake with the control plane. */
  onFailedHandshake(): void;
  logger: Logger;
  metrics: Metrics;
}

/**
 * Objects and functions that the routes need: `ApiDeps`, and the objects that all requests to the
 * control plane share.
 */
export interface RouteDeps extends ApiDeps {
  limiters: ApiLimiters;
  tlsListener: TlsListener;
  tailFrames: TailFrames;
  refusedTokens: RefusedTokens;
  workspaceConfigs: WorkspaceConfigs;
}
