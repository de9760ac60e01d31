import { StartError } from "../../errors.ts";
import type { KafkaClients } from "../../kafka/client.ts";

/**
 * Milliseconds for which a starting node tolerates that all brokers refuse connections, because the
 * brokers may be starting too.
 */
const REFUSED_MS_MAX = 5_000;
/** Maximum milliseconds that a starting node waits for all other brokers after the first answer. */
const EACH_MS_MAX = 1_000;
const LOOK_MS = 50;

/**
 * Waits until a broker answers, for at most `refusedMsMax` milliseconds. Returns without an answer
 * if a broker is silent until then. Throws `StartError` in these cases:
 * - All brokers refuse this node's credentials or TLS: at once.
 * - All brokers refuse this node for other reasons: after `refusedMsMax`.
 * - The brokers belong to different Kafka clusters.
 */
export async function awaitBrokers(
  clients: AwaitedBrokers,
  refusedMsMax = REFUSED_MS_MAX,
): Promise<void> {
  await awaitAnyBroker(clients, refusedMsMax);
  const until = performance.now() + EACH_MS_MAX;
  const isProbed = () => clients.lastProbes().every((it) => it.isProbed);
  while (!isProbed() && performance.now() < until) await Bun.sleep(LOOK_MS);
  const foreign = clients.foreignBrokers();
  if (foreign.length === 0) return;
  const others = foreign.map(({ address, clusterId }) => `${address} belongs to ${clusterId}`);
  throw new StartError(
    `Expected the brokers of cluster.kafka to belong to one Kafka cluster, which is ${clients.view.clusterId} by the first answer, but ${others.join(", ")}`,
  );
}

type AwaitedBrokers = Pick<KafkaClients, "lastProbes" | "foreignBrokers"> & {
  view: Pick<KafkaClients["view"], "isEmpty" | "clusterId">;
};

async function awaitAnyBroker(clients: AwaitedBrokers, refusedMsMax: number): Promise<void> {
  const until = performance.now() + refusedMsMax;
  while (clients.view.isEmpty) {
    const lastProbes = clients.lastProbes();
    const reasons = lastProbes.map(({ address, error }) => reasonOf(address, error));
    const isFinal = reasons.length > 0 && reasons.every((it) => it?.isFinal);
    const isRefused = reasons.length > 0 && reasons.every((it) => it !== undefined);
    const isLate = performance.now() > until;
    if (isFinal || (isLate && isRefused)) {
      const sentences = new Set(reasons.map((it) => it!.sentence));
      throw new StartError(`Cannot use the brokers of cluster.kafka: ${[...sentences].join("; ")}`);
    }
    if (isLate) return;
    await Bun.sleep(LOOK_MS);
  }
}

interface Reason {
  sentence: string;
  /** Whether the broker will refuse this node until an operator changes the settings. */
  isFinal: boolean;
}

/**
 * Returns why a broker refuses this node, from the error of the broker's last probe. Returns
 * undefined if there is no error, or if the error is a timeout.
 */
function reasonOf(address: string, error: unknown): Reason | undefined {
  const all = causesOf(error);
  const root = all.at(-1);
  if (root === undefined || all.some(({ name, message }) => /timed? ?out/i.test(name + message))) {
    return undefined;
  }
  const has = (test: (it: Cause) => boolean) => all.some(test);
  const detail = root.message;
  if (has(({ apiId }) => apiId === "ILLEGAL_SASL_STATE")) {
    const sentence = `broker ${address} does not use SASL: unset cluster.sasl, or name a port with SASL`;
    return { sentence, isFinal: true };
  }
  if (has(({ code }) => code === "PLT_KFK_AUTHENTICATION")) {
    const sentence = `broker ${address} refuses the sign-in: check cluster.sasl, cluster.user and cluster.password (${detail})`;
    return { sentence, isFinal: true };
  }
  if (has(({ code, message }) => code === "PLT_KFK_USER" && message.includes("TLS"))) {
    const sentence = `TLS to broker ${address} fails: check cluster.tls and cluster.ca (${detail})`;
    return { sentence, isFinal: true };
  }
  return { sentence: detail, isFinal: false };
}

interface Cause {
  name: string;
  message: string;
  code?: unknown;
  apiId?: unknown;
}

/** Returns an error and all its causes, the error itself first. */
function causesOf(error: unknown): Cause[] {
  if (!(error instanceof Error)) return [];
  const inner = [...((error as AggregateError).errors ?? []), error.cause];
  return [error as Cause, ...inner.flatMap(causesOf)];
}
