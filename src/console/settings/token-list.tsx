import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Button } from "../components/button.tsx";
import { CodeBlock } from "../components/code-block.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { Badge } from "../components/layout.tsx";
import type { Column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import type { Permission } from "../data/model.ts";
import { client, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { type FormContext, PagedList } from "./paged-list.tsx";
import { PermissionBadges, PermissionCheckboxes } from "./permissions.tsx";

type Token = AnswerOf<"GET /v2/tokens">["tokens"][number];

const isCurrent = ({ id }: Token) => id === session.value?.token.id;

/** List of API tokens: those of services, and the personal ones of members. */
export function TokenList() {
  return (
    <PagedList
      title="Tokens"
      load={async (page) => {
        const { tokens, paging } = await client.call("GET /v2/tokens", { query: { page } });
        return { items: tokens, total: paging.total };
      }}
      columns={() => columns}
      empty={{ title: "No tokens", text: "A token lets a script or a person call the API." }}
      add="New token"
      form={(context) => <TokenForm {...context} />}
      deletion={{
        verb: "Revoke",
        noun: "token",
        consequence: (token) =>
          isCurrent(token)
            ? "You signed in with this token: you are signed out immediately."
            : "Requests with this token are refused immediately, and its sessions end.",
        remove: (params) => client.call("DELETE /v2/tokens/{id}", { params }),
      }}
    />
  );
}

const columns: Column<Token>[] = [
  {
    title: "Name",
    kind: "name",
    cell: (token) => (
      <span class="row">
        <span class="cut">{token.name}</span>
        {isCurrent(token) && <Badge tone="accent">Current</Badge>}
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
    title: "Expires",
    kind: "narrow",
    cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : "Never"),
  },
];

function TokenForm({ close, reload }: FormContext<Token>) {
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
        <p class="notice warn">Copy the token now: you won't see it again.</p>
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
    <Form
      action="Create token"
      onCancel={close}
      onSubmit={async () => {
        const body = {
          name,
          ...(memberId === "" ? { permissions } : { memberId }),
          ...(expires !== "" && { expiresAt: new Date(expires).toISOString() }),
        };
        const { token } = await client.call("POST /v2/tokens", { body });
        await reload();
        setSecret(token.secret);
      }}
    >
      <TextField label="Name" value={name} onInput={setName} required autoFocus />
      <SelectField
        label="Owner"
        value={memberId}
        options={[
          { value: "", text: "A service, with its own permissions" },
          ...members.map((it) => ({ value: it.id, text: `${it.name} (${it.email})` })),
        ]}
        onChange={setMemberId}
      />
      {memberId === "" && <PermissionCheckboxes granted={permissions} onChange={setPermissions} />}
      <TextField
        label="Expires at"
        optional
        type="datetime-local"
        value={expires}
        onInput={setExpires}
      />
    </Form>
  );
}
