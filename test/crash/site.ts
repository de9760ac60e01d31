import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Brokers, startBrokers } from "../cluster/brokers.ts";
import { type LinkedBrokers, startLinkedBrokers } from "../cluster/linked-brokers.ts";
import { removeDirectory, temporaryDirectory, waitFor } from "../e2e/server.ts";
import { freePorts } from "../free-ports.ts";
import { mountDisk, mountMissing, unmountDisk } from "../small-disk.ts";
import { codeOf, testEvent } from "../soak/fates.ts";
import { startReceiver } from "../soak/site.ts";
import { Arrivals } from "./arrivals.ts";
import { Node } from "./node.ts";

export interface SiteOptions {
  nodes: number;
  /** Number of brokers; 0 for a single node on its own disk. */
  brokers: 0 | 1 | 3;
  /** Whether the links among three brokers, and from nodes to brokers, can be disturbed. */
  hasLinks?: boolean;
  /** Lines of `server.properties`. */
  brokerSettings?: string[];
  /** Whether all nodes name the brokers in one order; by default each begins with another one. */
  isOneOrder?: boolean;
  /** Number of partitions of the events; 6 by default. */
  partitions?: number;
  /** Size of each node's own disk, where disks can be mounted. */
  nodeDiskBytes?: number;
  /** Client timeout in milliseconds. */
  patienceMs?: number;
  /** Executables of several versions: all nodes start with the first. Absent: this checkout. */
  versions?: readonly string[];
}

const PARTITIONS = 6;
/** Disk size of each broker, larger than a long run needs. */
const DISK_BYTES = 512 << 20;
/** Longest time for the backlog to drain on a busy machine. */
const DRAIN_MS_MAX = 600_000;
/** Pause between two attempts of an API call that failed. */
const RETRY_MS = 250;
const CALL_MS_MAX = 120_000;

export interface Letter {
  /** Identifier of the pixel's event. */
  eventId: string;
  stage: string;
}

/** Cluster under test: its nodes, brokers, configuration, and the receiver of its events. */
export class Site {
  writeKey = "";
  sourceId = "";
  /** Source that `Load.taken` renames. */
  probeSourceId = "";
  #transformationId = "";

  private constructor(
    readonly nodes: Node[],
    readonly brokers: Brokers | undefined,
    /** The brokers, if their links can be disturbed. */
    readonly links: LinkedBrokers | undefined,
    readonly arrivals: Arrivals,
    private readonly end: () => Promise<void>,
  ) {}

  static async open(options: SiteOptions): Promise<Site> {
    const { nodes: count, nodeDiskBytes, versions } = options;
    const directory = temporaryDirectory();
    const received = join(directory, "received");
    mkdirSync(received);
    const { brokers, links } = await openBrokers(options);
    const receiver = await startReceiver(received, 1_000_000);
    // The clients of a linear run send more requests than a workspace may by default.
    const rate = ["--admin-rate", "0"];
    const common = ["--retry-window", "3600", "--log-level", "info", ...rate];
    const ports = await freePorts(2 * count);
    const nodes = Array.from({ length: count }, (_, index) => {
      const name = `node-${index + 1}`;
      const own = join(directory, name);
      mkdirSync(own);
      if (nodeDiskBytes !== undefined && mountMissing === undefined) mountDisk(own, nodeDiskBytes);
      const [port, admin] = ports.splice(0, 2);
      const flags = [...common, "--port", String(port), "--admin-port", String(admin)];
      const addresses = links?.addressesOf(index) ?? brokers?.addresses;
      if (addresses !== undefined) {
        const named = options.isOneOrder ? addresses : rotated(addresses, index);
        flags.push(...clusterFlags(named, options.partitions));
      }
      return new Node(name, own, flags, options.patienceMs, versions?.slice(0, 1));
    });
    const end = async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      receiver.kill();
      await brokers?.stop();
      for (const node of nodes) if (nodeDiskBytes !== undefined) unmountDisk(node.directory);
      removeDirectory(directory);
    };
    const arrivals = new Arrivals(join(received, "crash"));
    const site = new Site(nodes, brokers, links, arrivals, end);
    try {
      await Promise.all(nodes.map((node) => node.start()));
      await site.#build(`${receiver.url}/crash`);
    } catch (error) {
      await end();
      throw error;
    }
    return site;
  }

  close(): Promise<void> {
    return this.end();
  }

  anyNode(): Node {
    return this.nodes[Math.floor(Math.random() * this.nodes.length)]!;
  }

  /** Waits until no lane has undelivered events. */
  async drain(): Promise<void> {
    const isIdle = async () => {
      const all = await Promise.all(this.nodes.map((it) => it.metric("pixelmill_lane_lag_events")));
      return all.flat().length > 0 && all.flat().every((lag) => lag === 0);
    };
    await waitFor(isIdle, "every lane to have passed all events", DRAIN_MS_MAX);
  }

  /** Lists the dead letters that a node knows. */
  async letters(node: Node): Promise<Letter[]> {
    const found: Letter[] = [];
    for (let after = ""; ; ) {
      const body = await this.#call(node, "GET", `/v2/dead-letters?count=1000${after}`);
      for (const { event, stage } of body.deadLetters) {
        found.push({ eventId: event.properties.id, stage });
      }
      if (body.paging.next === undefined) return found;
      after = `&after=${body.deadLetters.at(-1).id}`;
    }
  }

  /** Publishes code that never throws, and replays all dead letters. */
  async replayAll(): Promise<void> {
    const code = codeOf.javascript(1).replace(/^.*thirteen.*$/m, "");
    const body = { code, language: "javascript", events: [testEvent] };
    const path = `/transformations/${this.#transformationId}?publish=true`;
    await this.#call(this.anyNode(), "POST", path, body);
    for (let request: object | undefined = { filter: {} }; request !== undefined; ) {
      const answer = await this.#call(this.anyNode(), "POST", "/v2/dead-letters/replay", request);
      request = answer.more ? { filter: {}, before: answer.before } : undefined;
    }
  }

  async #build(url: string): Promise<void> {
    const make = (path: string, body: object) => this.#call(this.anyNode(), "POST", path, body);
    const { source } = await make("/v2/sources", { name: "Site 0", type: "http" });
    this.writeKey = source.writeKey;
    this.sourceId = source.id;
    const probed = await make("/v2/sources", { name: "Probe", type: "http" });
    this.probeSourceId = probed.source.id;
    const config = { webhookUrl: url, batchSize: 50 };
    const { destination } = await make("/v2/destinations", { name: "S", type: "webhook", config });
    await make("/v2/connections", { sourceId: source.id, destinationId: destination.id });
    const { id } = await make("/transformations?publish=true", {
      ...{ name: "Crash", language: "javascript", code: codeOf.javascript(0) },
      ...{ events: [testEvent], destinationIds: [destination.id] },
    });
    this.#transformationId = id;
  }

  /**
   * Calls the API until it succeeds, with retries while the node is unavailable; returns the body.
   * A call that was answered 503 may have taken effect: the next one is then a conflict.
   */
  async #call(node: Node, method: string, path: string, body?: object): Promise<any> {
    const until = Date.now() + CALL_MS_MAX;
    for (let isRepeated = false; ; isRepeated = true) {
      const answer = await node.api(method, path, body);
      if (answer.status === 200 || answer.status === 201) return answer.body;
      if (answer.status === 409 && isRepeated) return answer.body;
      if (![0, 503].includes(answer.status) || Date.now() > until) {
        throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
      await Bun.sleep(RETRY_MS);
    }
  }
}

async function openBrokers(options: SiteOptions) {
  const { nodes, brokers: count, hasLinks, brokerSettings: settings = [] } = options;
  if (count === 0) return {};
  const disks = mountMissing === undefined ? { diskBytes: DISK_BYTES } : {};
  if (!hasLinks) return { brokers: await startBrokers(count, settings, disks) };
  const links = await startLinkedBrokers(nodes, settings, disks);
  return { brokers: links, links };
}

const clusterFlags = (addresses: string[], partitions = PARTITIONS) => [
  ...["--cluster-kafka", addresses.join(",")],
  ...["--cluster-partitions", String(partitions)],
  ...["--cluster-replicas", String(addresses.length)],
];

/** The items, beginning with the one at `first`, in their order around. */
const rotated = <T>(items: readonly T[], first: number): T[] => {
  const at = first % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
};
