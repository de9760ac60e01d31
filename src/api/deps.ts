import type { Catalog } from "../catalog/catalog.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Publisher } from "../publishing/publisher.ts";
import type { ApiLimiters } from "./limiters.ts";

export interface Readiness {
  ready: boolean;
  checks: Record<string, { ok: boolean; message?: string }>;
  /** Sentences on states that work but should not last, such as `--insecure-sandbox`. */
  warnings: string[];
}

/** Published code that does not run before `until` (milliseconds since the epoch). */
export interface RevisionSuspension {
  transformationVersionId: string;
  name: string;
  until: number;
  reason: string;
}

/** Figures of the whole server. */
export interface SystemFigures {
  version: string;
  bun: string;
  uptimeSeconds: number;
  processes: { name: string; residentBytes: number; cpuSeconds: number }[];
  /** `alive`: guests; `awaited`: workspaces that wait for a guest; `suspended`: programs. */
  guests: { alive: number; awaited: number; suspended: number };
  memory: { totalBytes: number; freeBytes: number };
  /** `used`: bytes by each part of the data directory. */
  disk: { used: Record<string, number>; freeBytes: number };
  /**
   * Size of the event logs, when their oldest event was received (milliseconds since the epoch),
   * and the bounds up to which delivered events are kept; 0 is no bound.
   */
  events: {
    bytes: number;
    oldestAt: number | undefined;
    retention: { seconds: number; bytes: number };
  };
}

/** The nodes of a cluster, and the partitions that each of them runs. */
export interface ClusterFigures {
  name: string;
  /** Id of the node that answers. */
  node: string;
  /** Absent while the brokers do not list them. */
  nodes?: { id: string; version: string; controlPlaneUrl: string; partitions: number[] }[];
  partitions: {
    partition: number;
    /** Id of the node that runs its lanes; absent when no node has run them yet. */
    node?: string;
    /** Events that some destination has not settled; absent while the brokers do not report it. */
    lagEvents?: number;
  }[];
}

/** Questions to and from the other nodes of a cluster. */
export interface PeerNodes {
  /** Id of the node that asks. */
  node: string;
  /** Resolves after two seconds at most. */
  ask(question: unknown): Promise<{
    /** By the id of the node. */
    answers: ReadonlyMap<string, unknown>;
    /** Ids of nodes that did not answer in time. */
    missing: string[];
  }>;
  /** Sets how this node answers the questions of others; called once. */
  answerWith(answer: (question: unknown) => unknown): void;
}

/** Dependencies of the control plane. */
export interface ApiDeps {
  catalog: Catalog;
  publishing: Publisher;
  pipeline: Pick<
    Pipeline,
    | ("current" | "logEnds" | "deadLetters" | "replays")
    | ("liveTail" | "search" | "status" | "minuteCounts")
  >;
  kinds: ReadonlyMap<string, DestinationKind>;
  suspensions(workspaceId: string): RevisionSuspension[];
  ready(): Readiness;
  metricsText(): Promise<string>;
  system(): Promise<SystemFigures>;
  /** Absent on a standalone server. */
  nodes?(): Promise<ClusterFigures>;
  /** Absent on a standalone server. */
  others?: PeerNodes;
  dataPlaneUrl(): string;
  /**
   * The client of a request from `peer`; behind a trusted proxy, the client that
   * `X-Forwarded-For` names.
   */
  clientOf(peer: string, forwardedFor: string): string;
  /** Names under which browsers and scrapers reach the control plane, in lower case. */
  hosts: readonly string[];
  version: string;
  /**
   * The name of Python in answers for code that was sent as `pythonfaas`; rudder-cli knows only
   * `python`.
   */
  python: "pythonfaas" | "python";
  /**
   * Requests per second and token on average; a burst may use the allowance of two seconds. 0 is
   * no limit.
   */
  requestsPerSecondMax: number;
  logger: Logger;
  metrics: Metrics;
}

/** Dependencies of the routes: those of the control plane, and what it makes for itself. */
export interface RouteDeps extends ApiDeps {
  limiters: ApiLimiters;
}
