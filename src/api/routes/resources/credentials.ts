import { Type } from "@sinclair/typebox";
import { pageQuery, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "./resource.ts";

const Credential = Type.Object(
  { id: Type.String(), name: Type.String(), createdAt: Time, updatedAt: Time },
  { $id: "Credential", description: "Its value is write-only" },
);

const NewCredential = Type.Object(
  { name: Type.String(), value: Type.String() },
  { $id: "NewCredential", description: "The name is letters, digits and underscores" },
);

const credentials = resource({
  singular: "credential",
  plural: "credentials",
  schema: Credential,
  example: example.credential,
  table: (catalog) => catalog.credentials,
});

export const credentialRoutes = [
  credentials.list({
    summary: "List the names of the secrets that user code may read",
    query: pageQuery,
  }),
  credentials.create({
    summary: "Set a secret for `getCredential(name)`; an existing one is replaced",
    body: NewCredential,
    example: { name: "SHOP_KEY", value: "s3cret" },
    create: ({ deps, workspaceId, body }) =>
      deps.catalog.credentials.put(workspaceId, body.name, body.value),
  }),
  credentials.remove("Delete a secret"),
] as const;
