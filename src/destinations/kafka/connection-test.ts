import { Deadline } from "../../egress/deadline.ts";
import { DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import { testEvent } from "../test-event.ts";
import { connectionSteps, type TestStep, type TestStepName, TestSteps } from "../test-steps.ts";
import { BrokerConnections, type BrokerConnectionsParts } from "./broker-connections.ts";
import type { KafkaConfig } from "./config.ts";
import { EventProducer } from "./event-producer.ts";
import { failureOf, isMissingTopic } from "./failures.ts";
import { namesEvent } from "./topic-name.ts";

/**
 * Tests a config: connects to a broker, authenticates, and writes a record, which stays in the
 * topic.
 */
export async function testKafka(
  parts: BrokerConnectionsParts,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const { config } = parts;
  const time = new Deadline(config.timeoutMs ?? DATABASE_TIMEOUT_MS_DEFAULT, signal);
  const cut = time.signal();
  // Otherwise the test would create a topic for the test event and could not delete it.
  const tried = namesEvent(config.topic) ? { ...config, createTopics: false } : config;
  const brokers = new BrokerConnections({ ...parts, config: tried });
  cut.addEventListener("abort", () => brokers.closeAll(cut.reason), { once: true });
  try {
    const steps = await reach(brokers, tried, cut);
    if (steps.done.every(({ ok }) => ok))
      await write(new EventProducer(brokers, tried), steps, cut);
    return steps.done;
  } finally {
    time.clear();
    brokers.closeAll(new Error("The test has ended"));
  }
}

/**
 * Connects to the first reachable broker for a connection test. Returns the steps of this
 * connection. If no broker can be reached, returns the steps of the first attempt.
 */
async function reach(brokers: BrokerConnections, { tls }: KafkaConfig, signal: AbortSignal) {
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

async function write(
  producer: EventProducer,
  steps: TestSteps,
  signal: AbortSignal,
): Promise<void> {
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
