import {
  type ConnectStage,
  type Egress,
  type EgressRequest,
  type EgressResponse,
  networkReason,
} from "../egress/egress.ts";
import type { ReceiverAnswer } from "./answers/receiver-answer.ts";

/**
 * Names of the steps of a connection test, in the order in which they run. A kind of destination
 * runs only the steps that apply to it.
 */
export const testSteps = ["resolve", "connect", "tls", "sign-in", "write", "clean-up"] as const;
export type TestStepName = (typeof testSteps)[number];

/** Returns the names of the steps that open a connection, with TLS if `isSecure`. */
export function connectionSteps(isSecure: boolean): TestStepName[] {
  return isSecure ? ["resolve", "connect", "tls"] : ["resolve", "connect"];
}

/** The result of one step of a connection test. */
export interface TestStep {
  step: TestStepName;
  ok: boolean;
  /** One sentence: why the step failed, or a remark on a step that passed. */
  message?: string;
  /** Duration of the step in whole milliseconds. */
  durationMs: number;
  /** The receiver's answer in the step. Secrets in it are masked before a user sees it. */
  answer?: ReceiverAnswer;
}

/**
 * Collects the results of the steps of one connection test. A step's duration is counted from the
 * end of the step before it.
 */
export class TestSteps {
  readonly done: TestStep[] = [];
  #startedAt = performance.now();

  /** Records a step that passed, with an optional remark and the receiver's answer. */
  passed(step: TestStepName, message?: string, answer?: ReceiverAnswer): void {
    this.#add({ step, ok: true, ...(message !== undefined && { message }) }, answer);
  }

  /** Records a step that failed. A failed step is the last step of the test. */
  failed(step: TestStepName, message: string, answer?: ReceiverAnswer): void {
    this.#add({ step, ok: false, message }, answer);
  }

  #add(step: Omit<TestStep, "durationMs">, answer: ReceiverAnswer | undefined): void {
    const now = performance.now();
    const durationMs = Math.round(now - this.#startedAt);
    this.#startedAt = now;
    this.done.push({ ...step, durationMs, ...(answer && { answer }) });
  }
}

/**
 * Sends the HTTP request of a connection test, and adds the passed steps before `decided` to
 * `steps`. The caller must add `decided` for a response. If the request fails, adds the failed
 * step, and resolves with undefined.
 */
export async function requestInSteps(
  egress: Egress,
  request: EgressRequest,
  steps: TestSteps,
  decided: TestStepName,
): Promise<EgressResponse | undefined> {
  const ahead = [...connectionSteps(URL.parse(request.url)?.protocol === "https:"), decided];
  const onStage = (stage: ConnectStage) => {
    ahead.shift();
    steps.passed(stage);
  };
  try {
    return await egress.request({ ...request, onStage });
  } catch (error) {
    steps.failed(ahead[0]!, networkReason(error));
    return undefined;
  }
}
