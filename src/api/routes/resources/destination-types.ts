import { Type } from "@sinclair/typebox";
import { route } from "../../route.ts";
import { paged } from "../../schema/common.ts";
import { schemaWithSecrets } from "./destination-config.ts";

const DestinationType = Type.Object(
  {
    type: Type.String({ description: "What `type` of a destination says" }),
    config: Type.Record(Type.String(), Type.Unknown(), {
      description: "JSON schema of a destination's `config`; secrets are `writeOnly`",
    }),
  },
  { $id: "DestinationType" },
);

export const destinationTypeRoutes = [
  route("GET /v2/destination-types", {
    summary: "List the types of destinations, with the schema of their settings",
    aliases: ["/destination-types"],
    needs: [],
    answer: paged("destinationTypes", DestinationType),
    example: {
      answer: {
        destinationTypes: [
          {
            type: "file",
            config: {
              type: "object",
              properties: { path: { type: "string", minLength: 1 } },
              required: ["path"],
            },
          },
        ],
        paging: { total: 1 },
      },
    },
    handle({ deps }) {
      const destinationTypes = [...deps.kinds.values()].map((kind) => ({
        type: kind.kind,
        config: schemaWithSecrets(kind),
      }));
      return { destinationTypes, paging: { total: destinationTypes.length } };
    },
  }),
] as const;
