import {
  type ConnectStage,
  type Egress,
  type EgressRequest,
  type EgressResponse,
  networkReason,
} from "../egress/egress.ts";
import { connectionSteps, type TestStepName, type TestSteps } from "./test-steps.ts";

/**
 * Sends the HTTP request of a connection test, and resolves with the response. Adds the steps
 * `resolve`, `connect` and `tls` to `steps` when they pass. If the request fails, adds the step
 * that failed, and resolves with undefined. `decided` is the name of the last step. The caller
 * decides from the response whether this step passed, and adds the step.
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
