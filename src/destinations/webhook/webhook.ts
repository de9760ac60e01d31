import {
  type Egress,
  EgressRefused,
  type EgressRequest,
  type EgressResponse,
} from "../../egress/egress.ts";
import { LANE_DELIVERIES_MAX } from "../../settings/limits.ts";
import type {
  DeliveryResult,
  DestinationKind,
  OpenDestination,
  SecretAudience,
} from "../destination.ts";
import { networkReason, requestInSteps } from "../http-steps.ts";
import { audienceOfUrl } from "../secret-audience.ts";
import { testEvent } from "../test-event.ts";
import { type TestStep, TestSteps } from "../test-steps.ts";
import { AccessTokenError, AccessTokens } from "./access-tokens.ts";
import { sendsList } from "./body.ts";
import { WebhookConfig, webhookFaults } from "./config.ts";
import { WEBHOOK_TIMEOUT_MS_DEFAULT } from "./limits.ts";
import { requestBuilder } from "./request.ts";
import { RequestBuildError } from "./request-build-error.ts";
import { overrideMembers, overridesKey } from "./request-overrides.ts";
import { resultOfStatus } from "./response-status.ts";

/** Sends events as JSON by HTTP: one object per request, or an array when `batchSize` is above 1. */
export function webhookKind(egress: Egress): DestinationKind<WebhookConfig> {
  return {
    kind: "webhook",
    configSchema: WebhookConfig,
    secretKeys: [
      { path: "secret", audiences },
      { path: "headers.to", audiences },
      {
        path: "oauth.clientSecret",
        audiences: (config) => [...audiences(config), ...tokenAudiences(config)],
      },
    ],
    validate: webhookFaults,
    batchSize: (config) => config.batchSize ?? 1,
    concurrency: () => LANE_DELIVERIES_MAX,
    overrideMembers,
    batchKey: overridesKey,
    open: (config, workspaceId) => openWebhook(config, workspaceId, egress),
    test: (config, workspaceId, signal) => testWebhook(egress, config, workspaceId, signal),
  };
}

const audiences = ({ webhookUrl }: WebhookConfig) => [audienceOfUrl(webhookUrl)];

/** What the client's secret is answered with goes to the webhook. */
function tokenAudiences({ oauth }: WebhookConfig): SecretAudience[] {
  return [{ ...audienceOfUrl(oauth!.tokenUrl), use: "token" }];
}

function openWebhook(config: WebhookConfig, workspaceId: string, egress: Egress): OpenDestination {
  const requestOf = requestBuilder(config, workspaceId);
  const tokens = tokensOf(config, workspaceId, egress);

  return {
    async deliver(events, signal) {
      if (!sendsList(config) && events.length !== 1) {
        throw new RangeError("Expected one event a delivery");
      }
      try {
        const request = await requestOf(events, signal);
        const answer = tokens ? askWithToken(egress, tokens, request) : egress.request(request);
        return resultOfStatus(await answer);
      } catch (error) {
        return verdictOfError(error);
      }
    },
    async close() {
      tokens?.close();
    },
  };
}

function tokensOf({ oauth, timeoutMs }: WebhookConfig, workspaceId: string, egress: Egress) {
  if (oauth === undefined) return undefined;
  const time = timeoutMs ?? WEBHOOK_TIMEOUT_MS_DEFAULT;
  return new AccessTokens({ config: oauth, workspaceId, timeoutMs: time, egress });
}

function verdictOfError(error: unknown): DeliveryResult {
  const isFinal = error instanceof EgressRefused || error instanceof RequestBuildError;
  if (isFinal) return { kind: "rejected", reason: error.message };
  if (error instanceof SyntaxError) return { kind: "rejected", reason: "Expected events of JSON" };
  if (!(error instanceof AccessTokenError)) return { kind: "retry", reason: networkReason(error) };
  const { message: reason, afterMs } = error;
  if (error.isFinal) return { kind: "rejected", reason };
  return { kind: "retry", reason, ...(afterMs !== undefined && { afterMs }) };
}

/** Asks with an access token; a second time with another one when the receiver refuses the first. */
async function askWithToken(
  egress: Egress,
  tokens: AccessTokens,
  request: EgressRequest,
): Promise<EgressResponse> {
  const token = await tokens.acquire(request.signal);
  const answer = await egress.request(withToken(request, token));
  if (answer.status !== 401 || !tokens.invalidate(token)) return answer;
  return await egress.request(withToken(request, await tokens.acquire(request.signal)));
}

function withToken(request: EgressRequest, token: string): EgressRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}

/** Sends one event that says that it is a test: nothing else shows that the receiver takes them. */
async function testWebhook(
  egress: Egress,
  config: WebhookConfig,
  workspaceId: string,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const signIn = new TestSteps();
  const token = await signInToTest(tokensOf(config, workspaceId, egress), signIn, signal);
  if (signIn.done.some(({ ok }) => !ok)) return signIn.done;
  const steps = new TestSteps();
  const request = await requestBuilder(config, workspaceId)([testEvent()], signal);
  const asked = token === undefined ? request : withToken(request, token);
  const answer = await requestInSteps(egress, asked, steps, "write");
  if (answer === undefined) return withSignIn(steps.done, signIn.done);
  const verdict = resultOfStatus(answer);
  if (verdict.kind === "delivered") steps.passed("write");
  else steps.failed("write", verdict.reason);
  return withSignIn(steps.done, signIn.done);
}

/** The token that the test's request needs is asked for before that request is begun. */
async function signInToTest(
  tokens: AccessTokens | undefined,
  steps: TestSteps,
  signal: AbortSignal,
) {
  if (tokens === undefined) return undefined;
  try {
    const token = await tokens.acquire(signal);
    steps.passed("sign-in");
    return token;
  } catch (error) {
    steps.failed(
      "sign-in",
      error instanceof AccessTokenError ? error.message : networkReason(error),
    );
    return undefined;
  } finally {
    tokens.close();
  }
}

/** The receiver's steps, with the sign-in where it is told: before the write. */
function withSignIn(steps: TestStep[], signIn: TestStep[]): TestStep[] {
  const write = steps.findIndex(({ step }) => step === "write");
  return write < 0 ? steps : steps.toSpliced(write, 0, ...signIn);
}
