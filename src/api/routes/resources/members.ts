import { Type } from "@sinclair/typebox";
import type { MemberInput } from "../../../catalog/management/members.ts";
import { workspaceRoles } from "../../../catalog/model.ts";
import { EMAIL_CHARS_MAX } from "../../../settings/limits.ts";
import { component, oneOf } from "../../../settings/schema-types.ts";
import { Name, Permissions, pageQuery, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "./resource.ts";

const Role = oneOf(["admin", "member"], {
  description: "Legacy role: an admin with editTransformations holds the five of RudderStack",
});
export const WorkspaceRole = oneOf(workspaceRoles, {
  $id: "WorkspaceRole",
  description:
    "Named permissions: a viewer reads events, a developer also changes code, " +
    "an operator also replays and purges, an admin has all permissions",
});
const Email = Type.String({ format: "email", maxLength: EMAIL_CHARS_MAX });

const Member = component("Member", {
  id: Type.String(),
  name: Type.String(),
  email: Type.String(),
  role: Role,
  editTransformations: Type.Boolean(),
  permissions: Permissions,
  workspaceRole: Type.Optional(WorkspaceRole),
  identity: Type.Optional(
    Type.Object(
      { issuer: Type.String(), subject: Type.String() },
      { description: "Account at the OpenID provider; each sign-in sets name, email and role" },
    ),
  ),
  createdAt: Time,
  updatedAt: Time,
});

const optionalFields = {
  role: Type.Optional(Role),
  editTransformations: Type.Optional(Type.Boolean()),
  permissions: Type.Optional(Permissions),
  workspaceRole: Type.Optional(
    Type.Union([WorkspaceRole, Type.Null()], { description: "Null takes the role away" }),
  ),
};
const NewMember = component("NewMember", { name: Name, email: Email, ...optionalFields });
const MemberChange = Type.Object(
  { name: Type.Optional(Name), email: Type.Optional(Email), ...optionalFields },
  { $id: "MemberChange", description: "An absent field keeps its value" },
);

const members = resource({
  singular: "member",
  plural: "members",
  schema: Member,
  example: example.member,
  table: (catalog) => catalog.members,
});

export const memberRoutes = [
  members.list({ query: pageQuery }),
  members.create({
    summary: "Add a member",
    body: NewMember,
    example: { name: "Ada", email: "ada@example.com", role: "admin" },
    create({ deps, workspaceId, principal, body }) {
      const input = { ...body, ...changedFields(body), name: body.name.trim() };
      return deps.catalog.members.create(workspaceId, input, principal);
    },
  }),
  members.retrieve(),
  members.update({
    summary: "Change a member; personal tokens follow at once",
    body: MemberChange,
    example: { editTransformations: false },
    update({ deps, workspaceId, principal, params, body }) {
      const input = { ...body, ...changedFields(body) };
      return deps.catalog.members.update(workspaceId, params.id, input, principal);
    },
  }),
  members.remove("Remove a member; their personal tokens stop at once"),
] as const;

function changedFields({ name, permissions }: Partial<MemberInput>) {
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(permissions && { permissions: [...new Set(permissions)] }),
  };
}
