import { Deadline } from "../../egress/deadline.ts";
import type { Egress } from "../../egress/egress.ts";
import { DATABASE_TIMEOUT_MS_DEFAULT } from "../limits.ts";
import { testEvent } from "../test-event.ts";
import { type TestStep, type TestStepName, TestSteps } from "../test-steps.ts";
import { Brokers } from "./brokers.ts";
import type { KafkaConfig } from "./config.ts";
import { failureOf, isMissing } from "./failures.ts";
import { Producer } from "./producer.ts";
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
  const brokers = new Brokers({ egress, config: tried, workspaceId });
  cut.addEventListener("abort", () => brokers.drop(cut.reason), { once: true });
  try {
    const steps = await reach(brokers, tried, cut);
    if (steps.done.every(({ ok }) => ok)) await write(new Producer(brokers, tried), steps, cut);
    return steps.done;
  } finally {
    time.clear();
    brokers.drop(new Error("The test has ended"));
  }
}

/** The steps to the first broker that can be reached, or else to the first one. */
async function reach(brokers: Brokers, { tls }: KafkaConfig, signal: AbortSignal) {
  let first: TestSteps | undefined;
  for (const address of brokers.first) {
    const steps = new TestSteps();
    first ??= steps;
    const isSecure = tls !== "off";
    const ahead: TestStepName[] = ["resolve", "connect", ...(isSecure ? ["tls" as const] : [])];
    ahead.push("sign-in");
    const passed = () => steps.passed(ahead.shift()!);
    try {
      await brokers.to(address, signal, passed);
      passed();
      return steps;
    } catch (error) {
      steps.failed(ahead[0]!, failureOf(error).message);
    }
  }
  return first!;
}

async function write(producer: Producer, steps: TestSteps, signal: AbortSignal): Promise<void> {
  try {
    const [fate] = await producer.write([testEvent()], signal);
    if (fate === true) steps.passed("write", "The record stays: none can be deleted");
    // Each event has a topic of its name, and nobody made one for the test.
    else if (isMissing(fate!)) steps.passed("write", `Nothing was written: ${fate}`);
    else steps.failed("write", fate!);
  } catch (error) {
    steps.failed("write", failureOf(error).message);
  }
}
