import { Type } from "@sinclair/typebox";
import { component, text } from "../../../settings/schema-types.ts";
import { route } from "../../route.ts";
import { isoTime, MissingNodes, paged, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { workspaceSuspensions } from "./node-status.ts";

const Suspension = component("Suspension", {
  transformationVersionId: Type.String(),
  name: Type.String(),
  until: Time,
  reason: text("The last error of the code"),
});

export const suspensionRoutes = [
  route("GET /v2/suspensions", {
    summary: "List transformations that are not run for a while, because they only fail",
    aliases: ["/suspensions"],
    needs: ["events:read"],
    readsNoLedgers: true,
    answer: Type.Object({
      ...paged("suspensions", Suspension).properties,
      missingNodes: MissingNodes,
    }),
    example: { answer: { suspensions: [example.suspension], paging: { total: 1 } } },
    async handle({ deps, workspaceId }) {
      const { suspensions, missingNodes } = await workspaceSuspensions(deps, workspaceId);
      return {
        suspensions: suspensions.map(({ until, ...it }) => ({ ...it, until: isoTime(until) })),
        paging: { total: suspensions.length },
        ...(missingNodes.length > 0 && { missingNodes }),
      };
    },
  }),
] as const;
