import type { AnswerOf } from "../../api/client.ts";
import { Form, optionsByValue, SelectField, TextField } from "../components/forms/fields.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { useSave } from "../components/forms/use-save.tsx";
import { Badge } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { commonTexts } from "../texts/common.ts";
import { settingsTexts } from "../texts/settings.ts";
import { editColumn, type FormContext, formValues, PagedList } from "./paged-list.tsx";
import { PermissionBadges, PermissionCheckboxes } from "./permissions.tsx";

type Member = AnswerOf<"GET /v2/members">["members"][number];

const roleOptions = [
  { value: "", text: settingsTexts.noRole },
  ...optionsByValue(settingsTexts.roles),
];

/**
 * List of the workspace's members and their permissions. A member's personal API tokens have the
 * same permissions.
 */
export function MemberList() {
  return (
    <PagedList
      title={settingsTexts.members}
      load={(page) => client.call("GET /v2/members", { query: { page } })}
      itemsOf={({ members }) => members}
      columns={columnsOf}
      empty={settingsTexts.noMembers}
      add={settingsTexts.newMember}
      Form={MemberForm}
      retrieve={(params) => client.callTagged("GET /v2/members/{id}", { params })}
      verb="remove"
      noun={settingsTexts.memberNoun}
      consequence={() => settingsTexts.memberRemoveConsequence}
      remove={(params) => client.call("DELETE /v2/members/{id}", { params })}
    />
  );
}

function columnsOf(edit: (member: Member) => void): Column<Member>[] {
  return [
    editColumn(edit),
    column.plain(settingsTexts.email, ({ email }) => <Name cut>{email}</Name>),
    column.narrow(
      settingsTexts.workspaceRole,
      ({ workspaceRole }) => workspaceRole && <Badge flat>{workspaceRole}</Badge>,
    ),
    column.plain(settingsTexts.permissions, ({ permissions }) => (
      <PermissionBadges of={permissions} />
    )),
  ];
}

/** Form that creates or edits a member. */
function MemberForm({ answer, tag, close, reload }: FormContext<{ member: Member }>) {
  const member = answer?.member;
  const { values, input, select, set } = useFields({
    name: member?.name ?? "",
    email: member?.email ?? "",
    role: member ? (member.workspaceRole ?? "") : "viewer",
    permissions: member?.permissions ?? [],
  });
  const { save, conflict } = useSave({
    base: answer ? valuesOf(answer) : {},
    tag,
    send: (body, ifMatch) =>
      member
        ? client.call("PUT /v2/members/{id}", { params: { id: member.id }, body, ifMatch })
        : client.call("POST /v2/members", { body: body as unknown as Member }),
    valuesOf,
    labelOf: (key) => labels[key] ?? key,
  });
  return (
    <Form
      action={member ? settingsTexts.saveMember : settingsTexts.addMember}
      onCancel={close}
      conflict={conflict}
      onSubmit={async () => {
        const { role, ...others } = values;
        if (!(await save({ ...others, workspaceRole: role === "" ? null : role }))) return;
        await reload();
        close();
      }}
    >
      <TextField label={commonTexts.name} required autoFocus {...input("name")} />
      <TextField label={settingsTexts.email} type="email" required {...input("email")} />
      <SelectField
        label={settingsTexts.workspaceRole}
        hint={member?.identity && settingsTexts.roleFromProvider}
        options={roleOptions}
        {...select("role", "/workspaceRole")}
      />
      <PermissionCheckboxes
        legend={settingsTexts.morePermissions}
        granted={values.permissions}
        onChange={(permissions) => set({ permissions })}
      />
    </Form>
  );
}

const labels: Record<string, string> = {
  name: commonTexts.name,
  email: settingsTexts.email,
  permissions: settingsTexts.morePermissions,
  workspaceRole: settingsTexts.workspaceRole,
};

const valuesOf = ({ member }: { member: Member }) => formValues(member, labels);
