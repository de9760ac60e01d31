import { type Static, Type } from "@sinclair/typebox";
import type { MemberInput } from "../../../catalog/catalog.ts";
import type { Member as StoredMember } from "../../../catalog/model.ts";
import { EMAIL_CHARS_MAX } from "../../../settings/limits.ts";
import { pagingOf } from "../../response/paging.ts";
import { route } from "../../route.ts";
import {
  enveloped,
  isoTime,
  Name,
  Permissions,
  paged,
  pageQuery,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

const Role = Type.Union([Type.Literal("admin"), Type.Literal("member")], {
  description: "Legacy role: an admin with editTransformations holds the five of RudderStack",
});
const Email = Type.String({ format: "email", maxLength: EMAIL_CHARS_MAX });

const Member = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    email: Type.String(),
    role: Role,
    editTransformations: Type.Boolean(),
    permissions: Permissions,
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: "Member" },
);

const optionalFields = {
  role: Type.Optional(Role),
  editTransformations: Type.Optional(Type.Boolean()),
  permissions: Type.Optional(Permissions),
};
const NewMember = Type.Object(
  { name: Name, email: Email, ...optionalFields },
  { $id: "NewMember" },
);
const MemberChange = Type.Object(
  { name: Type.Optional(Name), email: Type.Optional(Email), ...optionalFields },
  { $id: "MemberChange", description: "What is absent keeps its value" },
);

const params = { id: example.ids.member };
const answer = { member: example.member };

export const memberRoutes = [
  route("GET /v2/members", {
    summary: "List members",
    aliases: ["/members"],
    needs: ["workspace:admin"],
    query: pageQuery,
    answer: paged("members", Member),
    example: { answer: { members: [example.member], paging: { total: 1 } } },
    handle({ deps, workspaceId, query: { page = 1 } }) {
      const found = deps.catalog.members.list(workspaceId, page);
      return {
        members: found.items.map(memberAnswer),
        paging: pagingOf("/members", page, found),
      };
    },
  }),

  route("POST /v2/members", {
    summary: "Add a member",
    needs: ["workspace:admin"],
    body: NewMember,
    answer: enveloped("member", Member),
    status: 201,
    example: { body: { name: "Ada", email: "ada@example.com", role: "admin" }, answer },
    async handle({ deps, workspaceId, body }) {
      const input = { ...body, ...changedFields(body), name: body.name.trim() };
      return { member: memberAnswer(await deps.catalog.members.create(workspaceId, input)) };
    },
  }),

  route("GET /v2/members/{id}", {
    summary: "Retrieve a member",
    needs: ["workspace:admin"],
    answer: enveloped("member", Member),
    example: { params, answer },
    handle: ({ deps, workspaceId, params }) => ({
      member: memberAnswer(deps.catalog.members.get(workspaceId, params.id)),
    }),
  }),

  route("PUT /v2/members/{id}", {
    summary: "Change a member; personal tokens follow at once",
    needs: ["workspace:admin"],
    body: MemberChange,
    answer: enveloped("member", Member),
    example: { params, body: { editTransformations: false }, answer },
    async handle({ deps, workspaceId, params, body }) {
      const input = { ...body, ...changedFields(body) };
      const member = await deps.catalog.members.update(workspaceId, params.id, input);
      return { member: memberAnswer(member) };
    },
  }),

  route("DELETE /v2/members/{id}", {
    summary: "Remove a member; their personal tokens stop at once",
    needs: ["workspace:admin"],
    answer: Type.Undefined(),
    status: 204,
    example: { params, answer: undefined },
    async handle({ deps, workspaceId, params }) {
      await deps.catalog.members.remove(workspaceId, params.id);
      return undefined;
    },
  }),
] as const;

function changedFields({ name, permissions }: Partial<MemberInput>) {
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(permissions && { permissions: [...new Set(permissions)] }),
  };
}

function memberAnswer(member: StoredMember): Static<typeof Member> {
  const { id, name, email, role, editTransformations, permissions } = member;
  return {
    id,
    name,
    email,
    role,
    editTransformations,
    permissions,
    createdAt: isoTime(member.createdAt),
    updatedAt: isoTime(member.updatedAt),
  };
}
