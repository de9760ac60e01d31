import type { Egress } from "../../egress/egress.ts";
import type {
  DeliveryResult,
  DestinationKind,
  OpenDestination,
  SecretAudience,
} from "../destination.ts";
import { inTurn } from "../in-turn.ts";
import { DATABASE_BATCH_EVENTS_MAX } from "../limits.ts";
import { ScramDerivations } from "../scram-keys.ts";
import { acceptedCertificate } from "../secret-audience.ts";
import { testEvent } from "../test-event.ts";
import { connectionSteps, type TestStep, type TestStepName, TestSteps } from "../test-steps.ts";
import { BrokerConnections, type BrokerConnectionsParts } from "./broker-connections.ts";
import { addressesOf, KafkaConfig, kafkaFaults, namesEvent } from "./config.ts";
import { EventProducer } from "./event-producer.ts";
import { failureOf, isMissingTopic } from "./failures.ts";
import type { SendResult } from "./record.ts";

/**
 * Creates the kind of destination that writes events to topics of Apache Kafka or a compatible
 * broker.
 */
export function kafkaKind(
  egress: Egress,
  derivations = new ScramDerivations(),
): DestinationKind<KafkaConfig> {
  const partsOf = (config: KafkaConfig, workspaceId: string): BrokerConnectionsParts => {
    return { egress, config, workspaceId, scramKeys: derivations.keysOf(workspaceId) };
  };
  return {
    kind: "kafka",
    configSchema: KafkaConfig,
    secretKeys: [
      { path: "password", audiences },
      { path: "headers.to", audiences },
    ],
    validate: kafkaFaults,
    endpoint: ({ brokers, topic }) => topic && `kafka://${brokers}/${topic}`,
    batchSize: (config) => config.batchSize ?? DATABASE_BATCH_EVENTS_MAX,
    // A batch with an unknown outcome must be sent again before the next delivery.
    concurrency: 1,
    open: (config, workspaceId) => openKafka(partsOf(config, workspaceId)),
    test: (config, workspaceId, signal) => testKafka(partsOf(config, workspaceId), signal),
  };
}

/**
 * Returns the brokers in the config, which get the password and the headers. They name further
 * brokers, which also get the password and the headers but are not in the result.
 */
function audiences(config: KafkaConfig): SecretAudience[] {
  const { brokers, tls } = config;
  return addressesOf(brokers).map(({ host, port }) => {
    const certificate = acceptedCertificate(config, host);
    return { host: `${host.toLowerCase()}:${port}`, isTls: tls !== "off", certificate };
  });
}

function openKafka(parts: BrokerConnectionsParts): OpenDestination {
  const brokers = new BrokerConnections(parts);
  const producer = new EventProducer(brokers, parts.config);
  return inTurn(
    (events, signal) =>
      brokers
        .within(signal, async (cut) => {
          cut.throwIfAborted();
          return verdictOf(await producer.write(events, cut));
        })
        .catch(resultOfError),
    () => brokers.closeAll(new Error("The destination was closed")),
  );
}

function resultOfError(error: unknown): DeliveryResult {
  const { outlook, message: reason, answer } = failureOf(error);
  const kind = outlook === "refused" ? "rejected" : "retry";
  return { kind, reason, ...(answer !== undefined && { answer }) };
}

function verdictOf(fates: readonly SendResult[]): DeliveryResult {
  const refused = new Map<number, string>();
  for (const [index, fate] of fates.entries()) if (fate !== true) refused.set(index, fate);
  return refused.size > 0 ? { kind: "delivered", refused } : { kind: "delivered" };
}

/**
 * Tests a config: connects to a broker, authenticates, and writes a record, which stays in the
 * topic.
 */
async function testKafka(parts: BrokerConnectionsParts, signal: AbortSignal): Promise<TestStep[]> {
  const { config } = parts;
  // Otherwise the test would create a topic for the test event and could not delete it.
  const tried = namesEvent(config.topic) ? { ...config, createTopics: false } : config;
  const brokers = new BrokerConnections({ ...parts, config: tried });
  try {
    return await brokers.within(signal, async (cut) => {
      const steps = await testConnect(brokers, tried, cut);
      if (steps.done.every(({ ok }) => ok)) {
        await testWrite(new EventProducer(brokers, tried), steps, cut);
      }
      return steps.done;
    });
  } finally {
    brokers.closeAll(new Error("The test has ended"));
  }
}

/**
 * Tries to connect to the brokers of the config, one after the other. Returns the test steps of the
 * first connection that succeeds, or, if none succeeds, the steps for the first broker.
 */
async function testConnect(brokers: BrokerConnections, { tls }: KafkaConfig, signal: AbortSignal) {
  let first: TestSteps | undefined;
  for (const address of brokers.bootstrap) {
    const steps = new TestSteps();
    first ??= steps;
    const ahead: TestStepName[] = [...connectionSteps(tls !== "off"), "sign-in"];
    const passed = () => steps.passed(ahead.shift()!);
    try {
      await brokers.connect(address, signal, passed);
      passed();
      return steps;
    } catch (error) {
      const { message, answer } = failureOf(error);
      steps.failed(ahead[0]!, message, answer);
    }
  }
  return first!;
}

async function testWrite(producer: EventProducer, steps: TestSteps, signal: AbortSignal) {
  try {
    const [fate] = await producer.write([testEvent()], signal);
    if (fate === true) steps.passed("write", "The record stays: none can be deleted");
    // The topic of the test event need not exist when topics are named by event.
    else if (isMissingTopic(fate!)) steps.passed("write", `Nothing was written: ${fate}`);
    else steps.failed("write", fate!);
  } catch (error) {
    const { message, answer } = failureOf(error);
    steps.failed("write", message, answer);
  }
}
