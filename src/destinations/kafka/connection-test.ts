import { Deadline } from "../../egress/deadline.ts";
import type { Egress } from "../../egress/egress.ts";
import { DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import { testEvent } from "../test-event.ts";
import { type TestStep, type TestStepName, TestSteps } from "../test-steps.ts";
import { BrokerConnections } from "./broker-connections.ts";
import type { KafkaConfig } from "./config.ts";
import { EventProducer } from "./event-producer.ts";
import { failureOf, isMissingTopic } from "./failures.ts";
import { namesEvent } from "./topic-name.ts";

/** Reaches one of the brokers, signs in, and writes a record, which stays. */
export async function testKafka(
  egress: Egress,
  config: KafkaConfig,
  workspaceId: string,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const time = new Deadline(config.timeoutMs ?? DATABASE_TIMEOUT_MS_DEFAULT, signal);
  const cut = time.signal();
  // A topic that is made for the test alone would stay.
  const tried = namesEvent(config.topic) ? { ...config, createTopics: false } : config;
  const brokers = new BrokerConnections({ egress, config: tried, workspaceId });
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

/** The steps to the first broker that can be reached, or else to the first one. */
async function reach(brokers: BrokerConnections, { tls }: KafkaConfig, signal: AbortSignal) {
  let first: TestSteps | undefined;
  for (const address of brokers.bootstrap) {
    const steps = new TestSteps();
    first ??= steps;
    const isSecure = tls !== "off";
    const ahead: TestStepName[] = ["resolve", "connect", ...(isSecure ? ["tls" as const] : [])];
    ahead.push("sign-in");
    const passed = () => steps.passed(ahead.shift()!);
    try {
      await brokers.connect(address, signal, passed);
      passed();
      return steps;
    } catch (error) {
      steps.failed(ahead[0]!, failureOf(error).message);
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
    // Each event has a topic of its name, and nobody made one for the test.
    else if (isMissingTopic(fate!)) steps.passed("write", `Nothing was written: ${fate}`);
    else steps.failed("write", fate!);
  } catch (error) {
    steps.failed("write", failureOf(error).message);
  }
}
