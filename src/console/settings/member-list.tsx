import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import type { Column } from "../components/table.tsx";
import type { Permission } from "../data/model.ts";
import { client } from "../data/session.ts";
import { type FormContext, PagedList } from "./paged-list.tsx";
import { PermissionBadges, PermissionCheckboxes } from "./permissions.tsx";

type Member = AnswerOf<"GET /v2/members">["members"][number];

/**
 * List of the workspace's members with their permissions. A member's personal tokens have the
 * member's permissions.
 */
export function MemberList() {
  return (
    <PagedList
      title="Members"
      load={async (page) => {
        const { members, paging } = await client.call("GET /v2/members", { query: { page } });
        return { items: members, total: paging.total };
      }}
      columns={columnsOf}
      empty={{
        title: "No members yet",
        text: "A member is a person. All personal tokens of a member have the member's permissions.",
      }}
      add="New member"
      form={(context) => <MemberForm {...context} />}
      deletion={{
        verb: "Remove",
        noun: "member",
        consequence: () => "The member's personal tokens and sessions stop working immediately.",
        remove: (params) => client.call("DELETE /v2/members/{id}", { params }),
      }}
    />
  );
}

function columnsOf(edit: (member: Member) => void): Column<Member>[] {
  return [
    {
      title: "Name",
      kind: "name",
      cell: (member) => (
        <button type="button" class="link cut" onClick={() => edit(member)}>
          {member.name}
        </button>
      ),
    },
    { title: "Email", cell: ({ email }) => <span class="cut">{email}</span> },
    {
      title: "Permissions",
      cell: ({ permissions }) => <PermissionBadges of={permissions} />,
    },
  ];
}

function MemberForm({ item: member, close, reload }: FormContext<Member>) {
  const [name, setName] = useState(member?.name ?? "");
  const [email, setEmail] = useState(member?.email ?? "");
  const [permissions, setPermissions] = useState<Permission[]>(
    member?.permissions ?? ["events:read"],
  );
  return (
    <Form
      action={member ? "Save member" : "Add member"}
      onCancel={close}
      onSubmit={async () => {
        const body = { name, email, permissions };
        if (member) await client.call("PUT /v2/members/{id}", { params: { id: member.id }, body });
        else await client.call("POST /v2/members", { body });
        await reload();
        close();
      }}
    >
      <TextField label="Name" value={name} onInput={setName} required autoFocus />
      <TextField label="Email" type="email" value={email} onInput={setEmail} required />
      <PermissionCheckboxes granted={permissions} onChange={setPermissions} />
    </Form>
  );
}
