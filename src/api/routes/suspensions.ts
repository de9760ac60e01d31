import { Type } from "@sinclair/typebox";
import * as example from "../document/examples.ts";
import { route } from "../route.ts";
import { paged, Time } from "../schema/pieces.ts";
import { isoTime } from "../transformation-answers.ts";

const Suspension = Type.Object(
  {
    transformationVersionId: Type.String(),
    name: Type.String(),
    until: Time,
    reason: Type.String({ description: "The last error of the code" }),
  },
  { $id: "Suspension" },
);

export const suspensionRoutes = [
  route("GET /v2/suspensions", {
    summary: "List transformations that are not run for a while, because they only fail",
    aliases: ["/suspensions"],
    needs: ["events:read"],
    answer: paged("suspensions", Suspension),
    example: { answer: { suspensions: [example.suspension], paging: { total: 1 } } },
    handle({ parts, workspaceId }) {
      const suspensions = parts.suspensions(workspaceId).map(({ until, ...suspension }) => ({
        ...suspension,
        until: isoTime(until),
      }));
      return { suspensions, paging: { total: suspensions.length } };
    },
  }),
] as const;
