import {
  type ConnectStage,
  type Egress,
  EgressRefused,
  type EgressRequest,
  type EgressResponse,
  ResolutionFailed,
} from "../egress/egress.ts";
import type { TestStepName, TestSteps } from "./test-steps.ts";

/** The error in one line; the codes of node:net, node:dns and node:tls say the most. */
export function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return "The request failed";
  const code = "code" in error && typeof error.code === "string" ? ` (${error.code})` : "";
  const isClear =
    code === "" || error instanceof ResolutionFailed || error instanceof EgressRefused;
  const message = isClear ? error.message : "The request failed";
  return `${message}${code}`;
}

/**
 * The answer to a request of a connection test, with its steps up to the one before `asked`, which
 * the answer decides about. Undefined when a step failed.
 */
export async function requestInSteps(
  egress: Egress,
  request: EgressRequest,
  steps: TestSteps,
  asked: TestStepName,
): Promise<EgressResponse | undefined> {
  const isSecure = request.url.startsWith("https:");
  const ahead: TestStepName[] = [
    "resolve",
    "connect",
    ...(isSecure ? ["tls" as const] : []),
    asked,
  ];
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
