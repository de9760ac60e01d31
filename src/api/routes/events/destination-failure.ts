import { Type } from "@sinclair/typebox";
import type { DeadLetters } from "../../../pipeline/dead-letters/dead-letters.ts";
import { type LastFailure, latestFailure } from "../../../pipeline/monitoring/lane-gauges.ts";
import { component } from "../../../settings/schema-types.ts";
import { route } from "../../route.ts";
import { isoTime, MissingNodes, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { lastFailures } from "../status/node-status.ts";
import { ReceiverResponse } from "./letter-answers.ts";

const Failure = component("DestinationFailure", {
  at: Time,
  reason: Type.String(),
  response: Type.Optional(ReceiverResponse),
});

export const destinationFailureRoutes = [
  route("GET /v2/destinations/{id}/failure", {
    summary: "Tell why the last delivery to a destination failed, and what its receiver answered",
    needs: ["events:read"],
    answer: Type.Object({
      failure: Type.Optional(Failure),
      missingNodes: MissingNodes,
    }),
    example: {
      params: { id: example.ids.destination },
      answer: {
        failure: {
          at: example.deadLetterGroup.lastAt,
          reason: example.deadLetterGroup.reason,
          response: example.response,
        },
      },
    },
    async handle({ deps, workspaceId, params: { id } }) {
      const { id: destinationId } = deps.catalog.destinations.get(workspaceId, id);
      const { failures, missingNodes } = await lastFailures(deps, workspaceId, destinationId);
      const stored = storedFailure(deps.pipeline.deadLetters, workspaceId, destinationId);
      const failure = latestFailure([...failures, ...stored]);
      return {
        ...(failure && { failure: failureAnswer(failure) }),
        ...(missingNodes.length > 0 && { missingNodes }),
      };
    },
  }),
] as const;

/**
 * Returns a list with the latest delivery failure of the destination's present dead letters; an
 * empty list if it has none. Other failures are not stored, so they are unknown after a restart.
 */
function storedFailure(
  deadLetters: DeadLetters,
  workspaceId: string,
  destinationId: string,
): LastFailure[] {
  const groups = deadLetters
    .groups(workspaceId, destinationId)
    .filter(({ stage }) => stage === "deliver");
  const latest = latestFailure(groups.map(({ id, lastAt }) => ({ id, at: lastAt })));
  const group = latest && deadLetters.group(workspaceId, latest.id);
  if (group === undefined) return [];
  const { reason, lastAt: at, responses } = group;
  return [{ at, reason, response: responses[0]?.response }];
}

function failureAnswer({ at, reason, response }: LastFailure) {
  return { at: isoTime(at), reason, ...(response !== undefined && { response }) };
}
