import { Type } from "@sinclair/typebox";
import { component, text } from "../../../settings/schema-types.ts";
import { Tagged } from "../../entity-tag.ts";
import { invalidValue } from "../../request/validation.ts";
import { route } from "../../route.ts";
import { enveloped, Id, Name, Permissions, pageQuery, strict, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "./resource.ts";

const Token = component("Token", {
  id: Type.String(),
  name: Type.String(),
  permissions: Permissions,
  memberId: Type.Optional(
    text("Only of a personal token: its permissions are the member's current ones"),
  ),
  expiresAt: Type.Optional(Time),
  lastUsedAt: Type.Optional(Time),
  createdAt: Time,
});
const CreatedToken = component("CreatedToken", {
  ...Token.properties,
  secret: text("The token itself, shown this once"),
});

const NewToken = Type.Object(
  {
    name: Name,
    permissions: Type.Optional(Permissions),
    memberId: Type.Optional(Id),
    expiresAt: Type.Optional(Time),
  },
  {
    ...strict,
    $id: "NewToken",
    description:
      "A service token has its permissions; one with memberId has the member's current ones. " +
      "A caller gives only permissions that it has, and no end after that of its own token",
  },
);

const tokens = resource({
  singular: "token",
  plural: "tokens",
  schema: Token,
  example: example.token,
  // The use of a token is no change of the token.
  state: ({ lastUsedAt: _, ...state }) => state,
  table: ({ tokens }) => ({ ...tokens, remove: tokens.revoke }),
});

export const tokenRoutes = [
  tokens.list({
    summary: "List tokens, without their secrets",
    query: pageQuery,
  }),

  route("POST /v2/tokens", {
    summary: "Create a service token, or a personal one for a member",
    needs: ["workspace:admin"],
    readsInChange: true,
    body: NewToken,
    answer: enveloped("token", CreatedToken),
    status: 201,
    creates: true,
    example: {
      body: { name: example.token.name, permissions: ["transformations:edit"] },
      answer: { token: { ...example.token, secret: example.ids.secret } },
    },
    async handle({ deps, workspaceId, principal, body }) {
      if (!body.permissions && !body.memberId) {
        throw invalidValue("/permissions", "Expected permissions or a memberId, got neither");
      }
      const input = {
        name: body.name.trim(),
        permissions: [...new Set(body.permissions)],
        ...(body.memberId !== undefined && { memberId: body.memberId }),
        ...(body.expiresAt !== undefined && { expiresAt: Date.parse(body.expiresAt) }),
      };
      const { token, secret } = await deps.catalog.tokens.create(workspaceId, input, principal);
      const { answer, tag } = tokens.enclose(token, deps);
      return new Tagged({ token: { ...answer.token, secret } }, tag);
    },
  }),

  tokens.remove("Revoke a token at once"),
] as const;
