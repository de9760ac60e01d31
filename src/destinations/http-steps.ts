import {
  type ConnectStage,
  type Egress,
  EgressRefused,
  type EgressRequest,
  type EgressResponse,
  ResolutionFailed,
} from "../egress/egress.ts";
import { codeOf, failureText } from "../errors.ts";
import { connectionSteps, type TestStepName, type TestSteps } from "./test-steps.ts";

/** Describes a network error in one line, with its error code of node:net, node:dns or node:tls. */
export function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return "The request failed";
  const code = codeOf(error);
  if (code === "") return error.message;
  const isClear = error instanceof ResolutionFailed || error instanceof EgressRefused;
  if (isClear) return `${error.message} (${code})`;
  return failureText(code, "The request failed", "The server's");
}

/**
 * Sends the HTTP request of a connection test, and resolves with the response. Adds the steps
 * `resolve`, `connect` and `tls` to `steps` when they pass. If the request fails, adds the step
 * that failed, and resolves with undefined. The caller decides from the response whether the last
 * step, `decided`, passed.
 */
export async function requestInSteps(
  egress: Egress,
  request: EgressRequest,
  steps: TestSteps,
  decided: TestStepName,
): Promise<EgressResponse | undefined> {
  const ahead = [...connectionSteps(request.url.startsWith("https:")), decided];
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
