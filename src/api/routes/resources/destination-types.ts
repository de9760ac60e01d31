import { Type } from "@sinclair/typebox";
import { opaqueForm } from "../../../destinations/rudder-server/opaque-config.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import { route } from "../../route.ts";
import { paged } from "../../schema/common.ts";
import { schemaWithSecrets } from "./destination-config.ts";

const DestinationType = component("DestinationType", {
  type: text("What `type` of a destination says"),
  displayName: Type.Optional(text("As RudderStack calls the type")),
  deliveredBy: oneOf(["pixelmill", "rudder-server"], {
    description: "Who delivers; a type of rudder-server has other settings than its namesake",
  }),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description:
      "JSON schema of a destination's `config`; secrets are `writeOnly`. `x-applies-when` has the " +
      "settings of which one must have one of these values, or `any`, for a setting to have an effect",
  }),
});

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
            deliveredBy: "pixelmill",
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
      const ours = [...deps.kinds.values()].map((kind) => ({
        type: kind.kind,
        deliveredBy: "pixelmill" as const,
        config: schemaWithSecrets(kind),
      }));
      const theirs = deps.definitions.destinations().map((definition) => ({
        type: definition.name,
        displayName: definition.displayName,
        deliveredBy: "rudder-server" as const,
        config: schemaWithSecrets(opaqueForm(definition)),
      }));
      const destinationTypes = [...ours, ...theirs];
      return { destinationTypes, paging: { total: destinationTypes.length } };
    },
  }),
] as const;
