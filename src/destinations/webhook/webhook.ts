import { createHash } from "node:crypto";
import { assert } from "../../assert.ts";
import { type Egress, EgressRefused, networkReason } from "../../egress/egress.ts";
import { LANE_DELIVERIES_MAX } from "../../settings/limits.ts";
import { answerOf } from "../answers/receiver-answer.ts";
import type {
  DeliveryResult,
  DestinationKind,
  OpenDestination,
  SecretAudience,
} from "../destination.ts";
import { maskedUrl } from "../masked-url.ts";
import { secretsOfRequest } from "../request-secrets.ts";
import { audienceOfUrl } from "../secret-audience.ts";
import { testEvent } from "../test-event.ts";
import { requestInSteps, type TestStep, TestSteps } from "../test-steps.ts";
import { BodyBuffers } from "./body-buffers.ts";
import { WebhookConfig, webhookFaults } from "./config.ts";
import { isSecretHeader } from "./headers.ts";
import { WEBHOOK_TIMEOUT_MS_DEFAULT } from "./limits.ts";
import { AccessTokenError, AccessTokens } from "./oauth/access-tokens.ts";
import { KeptTokens } from "./oauth/kept-tokens.ts";
import { requestBuilder, type WebhookRequest } from "./request.ts";
import { sendsList } from "./request-body.ts";
import { RequestBuildError } from "./request-build-error.ts";
import { overrideMembers, overridesKey } from "./request-overrides.ts";
import { resultOfStatus } from "./response-status.ts";

/**
 * Creates the kind of destination that sends events as JSON over HTTP. A request carries one event
 * as an object, or an array of events when `batchSize` is above 1.
 */
export function webhookKind(egress: Egress): DestinationKind<WebhookConfig> {
  const buffers = new BodyBuffers();
  const kept = new KeptTokens();
  return {
    kind: "webhook",
    configSchema: WebhookConfig,
    secretKeys: [
      { path: "secret", audiences },
      { path: "headers.to", audiences, isSecret: isSecretHeader },
      {
        path: "oauth.clientSecret",
        audiences: (config) => [...audiences(config), ...tokenAudiences(config)],
      },
    ],
    endpoint: ({ webhookUrl, secretUrl }) => webhookUrl && maskedUrl(webhookUrl, secretUrl),
    maskedKeys: [
      {
        path: "webhookUrl",
        shown: ({ webhookUrl, secretUrl }) => maskedUrl(webhookUrl, secretUrl),
      },
      {
        path: "oauth.tokenUrl",
        shown: ({ oauth, secretUrl }) => maskedUrl(oauth!.tokenUrl, secretUrl),
      },
    ],
    validate: webhookFaults,
    batchSize: (config) => config.batchSize ?? 1,
    concurrency: LANE_DELIVERIES_MAX,
    overrideMembers,
    batchKey: overridesKey,
    open: (config, workspaceId) => openWebhook(config, workspaceId, { egress, buffers, kept }),
    test: (config, workspaceId, signal) => testWebhook(egress, config, workspaceId, signal),
  };
}

const audiences = ({ webhookUrl }: WebhookConfig) => [audienceOfUrl(webhookUrl)];

/** Returns the receiver of the OAuth client secret: the token server. */
function tokenAudiences({ oauth }: WebhookConfig): SecretAudience[] {
  return [{ ...audienceOfUrl(oauth!.tokenUrl), use: "token" }];
}

function openWebhook(
  config: WebhookConfig,
  workspaceId: string,
  { egress, buffers, kept }: { egress: Egress; buffers: BodyBuffers; kept: KeptTokens },
): OpenDestination {
  const requestOf = requestBuilder(config, workspaceId, buffers);
  const tokens = tokensOf(config, workspaceId, egress, kept);

  return {
    async deliver(events, signal) {
      try {
        assert(
          sendsList(config) || events.length === 1,
          "A webhook without batches delivers one event per request",
        );
        const request = await requestOf(events, signal);
        if (tokens !== undefined) return await deliverWithToken(egress, tokens, request);
        const answer = await egress.request(request);
        // The whole body was sent, or its connection is closed. A request that fails may still be
        // on its way.
        if (request.hasHeadRoom) buffers.give(request.body);
        return resultOfStatus(answer, () => secretsOf(request));
      } catch (error) {
        return resultOfError(error);
      }
    },
    async close() {
      tokens?.close();
    },
  };
}

function tokensOf(config: WebhookConfig, workspaceId: string, egress: Egress, kept: KeptTokens) {
  const { oauth, timeoutMs = WEBHOOK_TIMEOUT_MS_DEFAULT } = config;
  if (oauth === undefined) return undefined;
  const settings = JSON.stringify([workspaceId, config]);
  const key = createHash("sha256").update(settings).digest("hex");
  return new AccessTokens({ egress, kept, config: oauth, workspaceId, timeoutMs, key });
}

function resultOfError(error: unknown): DeliveryResult {
  const isFinal = error instanceof EgressRefused || error instanceof RequestBuildError;
  if (isFinal) return { kind: "rejected", reason: error.message };
  if (error instanceof SyntaxError) return { kind: "rejected", reason: "Expected events of JSON" };
  if (!(error instanceof AccessTokenError)) return { kind: "retry", reason: networkReason(error) };
  const { message: reason, afterMs } = error;
  const answer = answerOfTokenServer(error);
  const answered = answer !== undefined && { answer };
  if (error.isFinal) return { kind: "rejected", reason, ...answered };
  return { kind: "retry", reason, ...(afterMs !== undefined && { afterMs }), ...answered };
}

function answerOfTokenServer({ status }: AccessTokenError) {
  return status === undefined ? undefined : { status };
}

/**
 * Sends a request with an access token and, after a 401, once more with a new token if allowed. A
 * last answer 401 is `rejected`, or `retry` if the receiver had accepted the token before.
 */
async function deliverWithToken(
  egress: Egress,
  tokens: AccessTokens,
  request: WebhookRequest,
): Promise<DeliveryResult> {
  let token = await tokens.acquire(request.signal);
  const sent = [token];
  let answer = await egress.request(withToken(request, token));
  if (answer.status === 401 && tokens.invalidate(token)) {
    token = await tokens.acquire(request.signal);
    sent.push(token);
    answer = await egress.request(withToken(request, token));
  }
  const result = resultOfStatus(answer, () => [...sent, ...secretsOf(request)]);
  if (result.kind === "delivered") tokens.accept(token);
  const isRevoked = answer.status === 401 && tokens.wasAccepted(token);
  if (!isRevoked || result.kind !== "rejected") return result;
  return { ...result, kind: "retry" };
}

function withToken(request: WebhookRequest, token: string): WebhookRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}

const secretsOf = ({ headers, urlWithoutEvent: url }: WebhookRequest) =>
  secretsOfRequest({ headers, url });

/**
 * Tests a webhook by sending a test event, and returns the results of the steps. With OAuth
 * settings, `sign-in` runs first. If it fails, nothing else runs. If it passes, it is listed just
 * before `write`, or left out if `write` was not reached.
 */
async function testWebhook(
  egress: Egress,
  config: WebhookConfig,
  workspaceId: string,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const signIn = new TestSteps();
  // A test signs in by itself, even if a token is cached.
  const tokens = tokensOf(config, workspaceId, egress, new KeptTokens());
  let token: string | undefined;
  try {
    token = await tokens?.acquire(signal);
    if (token !== undefined) signIn.passed("sign-in");
  } catch (error) {
    if (!(error instanceof AccessTokenError)) signIn.failed("sign-in", networkReason(error));
    else signIn.failed("sign-in", error.message, answerOfTokenServer(error));
    return signIn.done;
  } finally {
    tokens?.close();
  }
  const steps = new TestSteps();
  const request = await requestBuilder(config, workspaceId)([testEvent()], signal);
  const authorized = token === undefined ? request : withToken(request, token);
  const answer = await requestInSteps(egress, authorized, steps, "write");
  if (answer !== undefined) {
    const result = resultOfStatus(answer);
    const shown = answerOf(answer, secretsOf(authorized));
    if (result.kind === "delivered") steps.passed("write", undefined, shown);
    else steps.failed("write", result.reason, shown);
  }
  const write = steps.done.findIndex(({ step }) => step === "write");
  return write < 0 ? steps.done : steps.done.toSpliced(write, 0, ...signIn.done);
}
