import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { ConfirmButton } from "../components/dialog.tsx";
import { EditForm } from "../components/forms/edit-form.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { EmptyState } from "../components/layout.tsx";
import type { TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { PagedList } from "./paged-list.tsx";

type Credential = AnswerOf<"GET /v2/credentials">["credentials"][number];

/** Secrets that code reads with `getCredential`; nobody reads them here. */
export function Credentials() {
  return (
    <PagedList
      title="Credentials"
      load={async (page) => {
        const answer = await client.call("GET /v2/credentials", { query: { page } });
        return { items: answer.credentials, total: answer.paging.total };
      }}
      columns={columnsOf}
      empty={
        <EmptyState icon="settings" title="No credentials yet">
          A credential is a secret that code reads by its name, such as a key of another service.
          Its value is not shown again.
        </EmptyState>
      }
      add="Set credential"
      form={(close, changed) => <CredentialForm close={close} changed={changed} />}
    />
  );
}

function columnsOf(reload: () => Promise<void>): TableColumn<Credential>[] {
  return [
    { title: "Name", kind: "name", cell: ({ name }) => <code class="cut">{name}</code> },
    {
      title: "In code",
      cell: ({ name }) => <code class="quiet cut">getCredential("{name}")</code>,
    },
    { title: "Set", kind: "narrow", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
    {
      title: "",
      kind: "narrow",
      cell: ({ id, name }) => (
        <ConfirmButton
          kind="plain"
          compact
          icon="bin"
          label={`Delete ${name}`}
          needs="workspace:admin"
          title={`Delete ${name}?`}
          text="Code that asks for it gets nothing from then on."
          action="Delete credential"
          onConfirm={async () => {
            await client.call("DELETE /v2/credentials/{id}", { params: { id } });
            await reload();
            showToast(`${name} is deleted`);
          }}
        />
      ),
    },
  ];
}

function CredentialForm(props: { close: () => void; changed: () => Promise<unknown> }) {
  const { close, changed } = props;
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  return (
    <EditForm
      action="Set credential"
      onCancel={close}
      onSubmit={async () => {
        await client.call("POST /v2/credentials", { body: { name, value } });
        await changed();
        close();
      }}
    >
      <TextField
        label="Name"
        value={name}
        onInput={setName}
        required
        autoFocus
        code
        placeholder="SHOP_KEY"
        hint="Letters, digits and underscores; one that is there is replaced."
      />
      <TextField
        label="Value"
        type="password"
        autoComplete="new-password"
        value={value}
        onInput={setValue}
        required
      />
    </EditForm>
  );
}
