import { Admin } from "@platformatic/kafka";
import { loadKafkaLibrary, loadKafkaProtocol } from "../../src/kafka/library.ts";
import { waitFor } from "../e2e/server.ts";
import { freePorts } from "../free-ports.ts";
import { type Brokers, startBrokers } from "./brokers.ts";
import { type Endpoint, Link } from "./link.ts";

/** Three brokers whose links to each other, and to each node of a test, can be disturbed. */
export interface LinkedBrokers extends Brokers {
  /** `host:port` by which a node names the brokers: each node has links of its own to all. */
  addressesOf(node: number): string[];
  /** The link on which a node reaches a broker. */
  nodeLink(node: number, broker: number): Link;
  /** The link of the connections that one broker opens to another. */
  brokerLink(from: number, to: number): Link;
  /** Cuts two brokers from each other; nodes reach both. */
  cut(one: number, other: number): void;
  /** Cuts one broker from all other brokers; nodes reach all. */
  isolate(broker: number): void;
  /** Ends all disturbances of all links. */
  heal(): void;
  /**
   * Index of the broker that leads a partition, as broker `ask` says. Undefined while that broker
   * does not answer or names none.
   */
  leaderOf(topic: string, partition: number, ask: number): Promise<number | undefined>;
  /** Waits until a broker other than `old` leads a partition, as broker `ask` says. */
  replacedLeaderOf(topic: string, partition: number, ask: number, old: number): Promise<number>;
  /**
   * Waits until all brokers name one leader of a partition, with the copies of all brokers in sync;
   * resolves with the leader's index. Only then the others can do without any one of them.
   */
  agreedLeaderOf(topic: string, partition: number): Promise<number>;
  /** Index of the broker that coordinates all groups. */
  coordinator(): Promise<number>;
  /** Index of the broker whose controller decides who leads; undefined while there is none. */
  activeController(): Promise<number | undefined>;
}

const BROKERS = 3;
const LOCAL = "127.0.0.1";

/**
 * Starts three brokers behind links, for `nodes` nodes. No privileges are needed: each broker knows
 * the others by names, and has its own file of what these names mean, which are loopback addresses
 * at which its own links listen.
 */
export async function startLinkedBrokers(
  nodes: number,
  settings: string[] = [],
  options: { diskBytes?: number } = {},
): Promise<LinkedBrokers> {
  const between = new Map<string, Link>();
  const nodeLinks: Link[][] = Array.from({ length: nodes }, () => []);
  const ports = await freePorts(2 * nodes * BROKERS);
  /** Where a broker listens for one node, and where that node's link listens. */
  const portsOf = (node: number, broker: number) => {
    const at = 2 * (node * BROKERS + broker);
    return { broker: ports[at]!, link: ports[at + 1]! };
  };
  const nodeIndexes = nodeLinks.map((_, node) => node);
  const closeLinks = () => {
    for (const link of [...between.values(), ...nodeLinks.flat()]) link.close();
  };
  try {
    for (const node of nodeIndexes) {
      for (let broker = 0; broker < BROKERS; broker++) {
        const { broker: to, link } = portsOf(node, broker);
        nodeLinks[node]!.push(await Link.open([{ at: local(link), to: local(to) }]));
      }
    }
    const brokers = await startBrokers(BROKERS, settings, {
      ...options,
      listeners: (broker) =>
        nodeIndexes.map((node) => ({
          name: `NODE${node}`,
          protocol: "PLAINTEXT",
          port: portsOf(node, broker).broker,
          advertised: `${LOCAL}:${portsOf(node, broker).link}`,
        })),
      async openRoute(from, to, targets) {
        const hostname = `127.77.${from + 1}.${to + 1}`;
        const routes = targets.map((port) => ({ at: { hostname, port }, to: local(port) }));
        between.set(`${from} ${to}`, await Link.open(routes));
        return hostname;
      },
    });
    // A busy broker answers late, and one that has just started does not know a new topic.
    const partitionAt = (topic: string, partition: number, ask: number) =>
      partitionIn(brokers.addresses[ask]!, topic, partition).catch(() => undefined);
    const leaderOf = async (topic: string, partition: number, ask: number) => {
      const { leader = 0 } = (await partitionAt(topic, partition, ask)) ?? {};
      return leader > 0 ? leader - 1 : undefined;
    };
    const brokerLink = (from: number, to: number) => between.get(`${from} ${to}`)!;
    const cut = (one: number, other: number) => {
      brokerLink(one, other).hold();
      brokerLink(other, one).hold();
    };
    return {
      ...brokers,
      addressesOf: (node) =>
        brokers.addresses.map((_, broker) => `${LOCAL}:${portsOf(node, broker).link}`),
      nodeLink: (node, broker) => nodeLinks[node]![broker]!,
      brokerLink,
      cut,
      isolate(broker) {
        for (let other = 0; other < BROKERS; other++) if (other !== broker) cut(broker, other);
      },
      heal() {
        for (const link of [...between.values(), ...nodeLinks.flat()]) link.heal();
      },
      leaderOf,
      replacedLeaderOf: (topic, partition, ask, old) =>
        waitFor(async () => {
          const leader = await leaderOf(topic, partition, ask);
          return leader === old ? undefined : leader;
        }, `broker ${ask} to name another leader of ${topic}`),
      agreedLeaderOf: (topic, partition) =>
        waitFor(async () => {
          const asked = brokers.addresses.map((_, ask) => partitionAt(topic, partition, ask));
          const [first, ...others] = await Promise.all(asked);
          const isAgreed = others.every((it) => it?.leader === first?.leader);
          return isAgreed && first?.isr.length === BROKERS ? first : undefined;
        }, `brokers to agree who leads ${topic}`).then(({ leader }) => leader - 1),
      coordinator: () => coordinatorIn(brokers.addresses),
      async activeController() {
        const asked = await Promise.all(brokers.controllers.map(isActiveController));
        return asked.includes(true) ? asked.indexOf(true) : undefined;
      },
      async stop() {
        closeLinks();
        await brokers.stop();
      },
    };
  } catch (error) {
    closeLinks();
    throw error;
  }
}

const local = (port: number): Endpoint => ({ hostname: LOCAL, port });

/** The groups' topic has one partition, so one broker coordinates every group. */
function coordinatorIn(addresses: string[]): Promise<number> {
  return withAdmin(addresses, async (admin) => {
    const [found] = await admin.findCoordinator({ keys: ["any"], keyType: 0 });
    return found!.nodeId - 1;
  });
}

/** Only the active controller describes its quorum; the others refuse to. */
async function isActiveController(address: string): Promise<boolean> {
  const { describeQuorumV2 } = await loadKafkaProtocol();
  const { Connection } = await loadKafkaLibrary();
  const connection = new Connection("test", { connectTimeout: 5_000, requestTimeout: 5_000 });
  const [host, port] = address.split(":");
  const partitions = [{ partitionIndex: 0 }];
  try {
    await connection.connect(host!, Number(port));
    const topics = [{ topicName: "__cluster_metadata", partitions }];
    await describeQuorumV2.api.async(connection, topics);
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

function partitionIn(address: string, topic: string, partition: number) {
  return withAdmin([address], async (admin) => {
    const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true });
    return topics.get(topic)!.partitions[partition]!;
  });
}

async function withAdmin<T>(addresses: string[], ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: "test", bootstrapBrokers: addresses });
  try {
    return await ask(admin);
  } finally {
    await admin.close();
  }
}
