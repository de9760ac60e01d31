import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Button } from "../components/button.tsx";
import { CodeBlock } from "../components/code-block.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { EditForm } from "../components/forms/edit-form.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { Badge, EmptyState } from "../components/layout.tsx";
import type { TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { client, type Permission, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { PagedList } from "./paged-list.tsx";
import { PermissionBadges, PermissionCheckboxes } from "./permissions.tsx";

type Token = AnswerOf<"GET /v2/tokens">["tokens"][number];

/** Tokens of services and of members. */
export function Tokens() {
  return (
    <PagedList
      title="Tokens"
      load={async (page) => {
        const { tokens, paging } = await client.call("GET /v2/tokens", { query: { page } });
        return { items: tokens, total: paging.total };
      }}
      columns={columnsOf}
      empty={
        <EmptyState icon="settings" title="No tokens">
          A token lets a script, or a person, call the API.
        </EmptyState>
      }
      add="New token"
      form={(close, changed) => <TokenForm close={close} changed={changed} />}
    />
  );
}

function columnsOf(reload: () => Promise<void>): TableColumn<Token>[] {
  return [
    {
      title: "Name",
      kind: "name",
      cell: ({ id, name }) => (
        <span class="row">
          <span class="cut">{name}</span>
          {id === session.value?.token.id && <Badge tone="accent">Yours</Badge>}
        </span>
      ),
    },
    {
      title: "Kind",
      kind: "narrow",
      cell: ({ memberId }) => <Badge flat>{memberId === undefined ? "Service" : "Personal"}</Badge>,
    },
    {
      title: "Permissions",
      cell: ({ permissions }) => <PermissionBadges of={permissions} />,
    },
    {
      title: "Last used",
      kind: "narrow",
      cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : "Never"),
    },
    {
      title: "Ends",
      kind: "narrow",
      cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : "Never"),
    },
    {
      title: "",
      kind: "narrow",
      cell: ({ id, name }) => (
        <ConfirmButton
          kind="plain"
          compact
          icon="bin"
          label={`Revoke ${name}`}
          needs="workspace:admin"
          title={`Revoke ${name}?`}
          text={
            id === session.value?.token.id
              ? "It is the token that you signed in with: you are signed out at once."
              : "Who uses it is refused at once, and its sessions end."
          }
          action="Revoke token"
          onConfirm={async () => {
            await client.call("DELETE /v2/tokens/{id}", { params: { id } });
            await reload();
            showToast(`${name} is revoked`);
          }}
        />
      ),
    },
  ];
}

function TokenForm({ close, changed }: { close: () => void; changed: () => Promise<unknown> }) {
  const [name, setName] = useState("");
  const [memberId, setMemberId] = useState("");
  const [permissions, setPermissions] = useState<Permission[]>(["events:read"]);
  const [expires, setExpires] = useState("");
  const [secret, setSecret] = useState<string>();
  const { value: members = [] } = useResource(
    async () => (await client.call("GET /v2/members")).members,
    [],
  );
  if (secret !== undefined) {
    return (
      <>
        <p class="notice warn">Copy it now: it is shown this once.</p>
        <CodeBlock text={secret} name="token" wrap />
        <div class="ends">
          <Button kind="main" onClick={close}>
            Done
          </Button>
        </div>
      </>
    );
  }
  return (
    <EditForm
      action="Create token"
      onCancel={close}
      onSubmit={async () => {
        const body = {
          name,
          ...(memberId === "" ? { permissions } : { memberId }),
          ...(expires !== "" && { expiresAt: new Date(expires).toISOString() }),
        };
        const { token } = await client.call("POST /v2/tokens", { body });
        await changed();
        setSecret(token.secret);
      }}
    >
      <TextField label="Name" value={name} onInput={setName} required autoFocus />
      <SelectField
        label="Whose"
        value={memberId}
        options={[
          { value: "", text: "A service's, with permissions of its own" },
          ...members.map((it) => ({ value: it.id, text: `${it.name} (${it.email})` })),
        ]}
        onChange={setMemberId}
      />
      {memberId === "" && <PermissionCheckboxes chosen={permissions} onChange={setPermissions} />}
      <TextField
        label="Ends at"
        optional
        type="datetime-local"
        value={expires}
        onInput={setExpires}
      />
    </EditForm>
  );
}
