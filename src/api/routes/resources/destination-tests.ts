import { type Static, Type } from "@sinclair/typebox";
import type { Destination } from "../../../catalog/model.ts";
import { shownAnswer, shownReason } from "../../../destinations/answers/receiver-answer.ts";
import { SecretMask } from "../../../destinations/answers/secret-mask.ts";
import { secretsOfConfig } from "../../../destinations/request-secrets.ts";
import { type TestStep, testSteps } from "../../../destinations/test-steps.ts";
import { ApiError } from "../../../errors.ts";
import { CONNECTION_TEST_MS_MAX } from "../../../settings/limits.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import type { RouteDeps } from "../../deps.ts";
import { invalidValue } from "../../request/validation.ts";
import { route } from "../../route.ts";
import { nullable } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { ReceiverResponse } from "../events/letter-answers.ts";
import { kindOf, missingKeys, resolveConfig } from "./destination-config.ts";
import { Config } from "./destinations.ts";

/** This file defines the routes that test a destination's connection. */

const ConnectionTest = Type.Object(
  {
    ok: Type.Boolean({ description: "Whether every step went well" }),
    steps: Type.Array(
      Type.Object({
        step: oneOf(testSteps),
        ok: Type.Boolean(),
        message: Type.Optional(text("Why the step failed, or what else to know")),
        durationMs: Type.Integer({ minimum: 0 }),
        response: Type.Optional(ReceiverResponse),
      }),
      { description: "In their order, up to the first that failed; a type has some of them" },
    ),
  },
  {
    $id: "ConnectionTest",
    description:
      "A webhook is sent one event, named Connection test; elsewhere what is written is taken away again",
  },
);

const SettingsTest = component("SettingsTest", {
  type: text("As in `POST /v2/destinations`"),
  config: nullable(Config),
  destinationId: Type.Optional(
    text(
      "A destination of that type, whose stored secrets stand for those that `config` leaves out, as in a change of it",
    ),
  ),
});

export const destinationTestRoutes = [
  route("POST /v2/destinations/{id}/test", {
    summary: "Try out the settings of a destination, step by step",
    audit: "none",
    isLong: true,
    needs: ["workspace:admin"],
    answer: ConnectionTest,
    example: {
      params: { id: example.ids.destination },
      answer: {
        ok: false,
        steps: [
          { step: "resolve", ok: true, durationMs: 4 },
          { step: "connect", ok: true, durationMs: 21 },
          { step: "tls", ok: true, durationMs: 33 },
          {
            step: "write",
            ok: false,
            message: "HTTP 401 from receiver",
            durationMs: 48,
            response: {
              status: 401,
              headers: { "content-type": "application/json" },
              body: '{"error":"the key was revoked"}',
            },
          },
        ],
      },
    },
    async handle({ deps, workspaceId, params, closing }) {
      const destination = deps.catalog.destinations.get(workspaceId, params.id);
      expectOurs(destination);
      const [missing] = missingKeys(kindOf(deps, destination.type), destination.config);
      if (missing !== undefined) {
        const message = `${missing.path.slice(1)}: ${missing.message}`;
        return { ok: false, steps: [{ step: testSteps[0], ok: false, message, durationMs: 0 }] };
      }
      return await runTest(deps, destination, closing);
    },
  }),

  route("POST /v2/destinations/test", {
    summary: "Try out settings before they are saved, step by step",
    audit: "none",
    isLong: true,
    needs: ["workspace:admin"],
    body: SettingsTest,
    answer: ConnectionTest,
    example: {
      body: { type: "webhook", config: example.destination.config },
      answer: {
        ok: true,
        steps: [
          { step: "resolve", ok: true, durationMs: 4 },
          { step: "connect", ok: true, durationMs: 21 },
          { step: "write", ok: true, durationMs: 48, response: { status: 204 } },
        ],
      },
    },
    async handle({ deps, workspaceId, body, closing }) {
      const kind = kindOf(deps, body.type);
      const { destinationId } = body;
      const stored =
        destinationId === undefined
          ? undefined
          : deps.catalog.destinations.get(workspaceId, destinationId);
      if (stored !== undefined && stored.type !== kind.kind) {
        throw invalidValue("/type", `Expected the type of the destination, ${stored.type}`);
      }
      if (stored !== undefined) expectOurs(stored);
      const config = resolveConfig(kind, body.config ?? {}, stored?.config ?? {}, true);
      return await runTest(deps, { type: kind.kind, config, workspaceId }, closing);
    },
  }),
] as const;

/** Throws if rudder-server, not pixelmill, delivers to the destination. */
function expectOurs({ deliveredBy }: Pick<Destination, "deliveredBy">): void {
  if (deliveredBy === undefined) return;
  throw new ApiError(
    "conflict",
    "Expected a destination that pixelmill delivers, got one that rudder-server delivers",
  );
}

/** Runs a test's steps within `CONNECTION_TEST_MS_MAX`. Throws if too many tests are running. */
async function runTest(
  deps: RouteDeps,
  { type, config, workspaceId }: Pick<Destination, "type" | "config" | "workspaceId">,
  closing: AbortSignal,
): Promise<Static<typeof ConnectionTest>> {
  using _permit = deps.limiters.connectionTests.acquire(workspaceId);
  const late = new Error(`No complete answer within ${CONNECTION_TEST_MS_MAX} ms`);
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(late), CONNECTION_TEST_MS_MAX);
  try {
    const signal = AbortSignal.any([time.signal, closing]);
    const kind = kindOf(deps, type);
    const steps = await kind.test(config, workspaceId, signal);
    const secrets = secretsOfConfig(kind, config);
    return {
      ok: steps.every(({ ok }) => ok),
      steps: steps.map((step) => shownStep(step, secrets)),
    };
  } finally {
    clearTimeout(timer);
  }
}

/** Returns a step of a test with secrets masked, because a receiver's answer may repeat them. */
function shownStep({ answer, message, ...step }: TestStep, secrets: readonly string[]) {
  const mask = new SecretMask([...secrets, ...(answer?.sent ?? [])]);
  return {
    ...step,
    ...(message !== undefined && { message: shownReason(message, mask) }),
    ...(answer !== undefined && { response: shownAnswer(answer, mask) }),
  };
}
