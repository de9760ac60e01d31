import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { ConfirmButton, Dialog } from "../components/dialog.tsx";
import { EditForm } from "../components/forms/edit-form.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { EmptyState } from "../components/layout.tsx";
import type { TableColumn } from "../components/table.tsx";
import { showToast } from "../components/toasts.ts";
import { client, type Permission } from "../data/session.ts";
import { PagedList } from "./paged-list.tsx";
import { PermissionBadges, PermissionCheckboxes } from "./permissions.tsx";

type Member = AnswerOf<"GET /v2/members">["members"][number];

/** People, and what each may do: their personal tokens have what they have. */
export function Members() {
  const [edited, setEdited] = useState<Member>();
  const [reloaded, setReloaded] = useState<{ reload: () => Promise<void> }>();
  return (
    <>
      <PagedList
        title="Members"
        load={async (page) => {
          const { members, paging } = await client.call("GET /v2/members", { query: { page } });
          return { items: members, total: paging.total };
        }}
        columns={(reload) =>
          columnsOf(reload, (member) => {
            setReloaded({ reload });
            setEdited(member);
          })
        }
        empty={
          <EmptyState icon="settings" title="No members yet">
            A member is a person. What a member may do holds for all their personal tokens.
          </EmptyState>
        }
        add="New member"
        form={(close, changed) => <MemberForm close={close} changed={changed} />}
      />
      {edited && (
        <Dialog title={edited.name} onClose={() => setEdited(undefined)}>
          <MemberForm
            member={edited}
            close={() => setEdited(undefined)}
            changed={async () => reloaded?.reload()}
          />
        </Dialog>
      )}
    </>
  );
}

function columnsOf(
  reload: () => Promise<void>,
  edit: (member: Member) => void,
): TableColumn<Member>[] {
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
    { title: "E-mail", cell: ({ email }) => <span class="cut">{email}</span> },
    {
      title: "Permissions",
      cell: ({ permissions }) => <PermissionBadges of={permissions} />,
    },
    {
      title: "",
      kind: "narrow",
      cell: ({ id, name }) => (
        <ConfirmButton
          kind="plain"
          compact
          icon="bin"
          label={`Remove ${name}`}
          needs="workspace:admin"
          title={`Remove ${name}?`}
          text="Their personal tokens stop at once, and their sessions end."
          action="Remove member"
          onConfirm={async () => {
            await client.call("DELETE /v2/members/{id}", { params: { id } });
            await reload();
            showToast(`${name} is removed`);
          }}
        />
      ),
    },
  ];
}

function MemberForm(props: {
  member?: Member;
  close: () => void;
  changed: () => Promise<unknown>;
}) {
  const { member, close, changed } = props;
  const [name, setName] = useState(member?.name ?? "");
  const [email, setEmail] = useState(member?.email ?? "");
  const [permissions, setPermissions] = useState<Permission[]>(
    member?.permissions ?? ["events:read"],
  );
  return (
    <EditForm
      action={member ? "Save member" : "Add member"}
      onCancel={close}
      onSubmit={async () => {
        const body = { name, email, permissions };
        if (member) await client.call("PUT /v2/members/{id}", { params: { id: member.id }, body });
        else await client.call("POST /v2/members", { body });
        await changed();
        close();
      }}
    >
      <TextField label="Name" value={name} onInput={setName} required autoFocus />
      <TextField label="E-mail" type="email" value={email} onInput={setEmail} required />
      <PermissionCheckboxes chosen={permissions} onChange={setPermissions} />
    </EditForm>
  );
}
