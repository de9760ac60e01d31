import { type Static, Type } from "@sinclair/typebox";
import type { Credential as StoredCredential } from "../../../catalog/model.ts";
import { pagingOf } from "../../response/paging.ts";
import { route } from "../../route.ts";
import { enveloped, isoTime, paged, pageQuery, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

const Credential = Type.Object(
  { id: Type.String(), name: Type.String(), createdAt: Time, updatedAt: Time },
  { $id: "Credential", description: "Its value is write-only" },
);

export const credentialRoutes = [
  route("GET /v2/credentials", {
    summary: "List the names of the secrets that user code may read",
    aliases: ["/credentials"],
    needs: ["workspace:admin"],
    query: pageQuery,
    answer: paged("credentials", Credential),
    example: { answer: { credentials: [example.credential], paging: { total: 1 } } },
    handle({ deps, workspaceId, query: { page = 1 } }) {
      const found = deps.catalog.credentials.list(workspaceId, page);
      return {
        credentials: found.items.map(credentialAnswer),
        paging: pagingOf("/credentials", page, found),
      };
    },
  }),

  route("POST /v2/credentials", {
    summary: "Set a secret for `getCredential(name)`; an existing one is replaced",
    needs: ["workspace:admin"],
    body: Type.Object(
      { name: Type.String(), value: Type.String() },
      { $id: "NewCredential", description: "The name is letters, digits and underscores" },
    ),
    answer: enveloped("credential", Credential),
    status: 201,
    example: {
      body: { name: "SHOP_KEY", value: "s3cret" },
      answer: { credential: example.credential },
    },
    async handle({ deps, workspaceId, body: { name, value } }) {
      const credential = await deps.catalog.credentials.put(workspaceId, name, value);
      return { credential: credentialAnswer(credential) };
    },
  }),

  route("DELETE /v2/credentials/{id}", {
    summary: "Delete a secret",
    needs: ["workspace:admin"],
    answer: Type.Undefined(),
    status: 204,
    example: { params: { id: example.ids.credential }, answer: undefined },
    async handle({ deps, workspaceId, params }) {
      await deps.catalog.credentials.remove(workspaceId, params.id);
      return undefined;
    },
  }),
] as const;

function credentialAnswer(credential: StoredCredential): Static<typeof Credential> {
  const { id, name, createdAt, updatedAt } = credential;
  return { id, name, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}
