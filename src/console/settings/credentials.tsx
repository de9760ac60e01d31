import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { AskingButton } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Empty } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import type { Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { client } from "../session.ts";
import { EditForm } from "./edit-form.tsx";
import { Listed } from "./listed.tsx";

type Credential = AnswerOf<"GET /v2/credentials">["credentials"][number];

/** Secrets that code reads with `getCredential`; nobody reads them here. */
export function Credentials() {
  return (
    <Listed
      title="Credentials"
      load={async (page) => {
        const answer = await client.call("GET /v2/credentials", { query: { page } });
        return { items: answer.credentials, total: answer.paging.total };
      }}
      columns={columnsOf}
      empty={
        <Empty icon="settings" title="No credentials yet">
          A credential is a secret that code reads by its name, such as a key of another service.
          Its value is not shown again.
        </Empty>
      }
      add="Set credential"
      form={(close, changed) => <CredentialForm close={close} changed={changed} />}
    />
  );
}

function columnsOf(reload: () => Promise<void>): Column<Credential>[] {
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
        <AskingButton
          kind="plain"
          tight
          icon="bin"
          label={`Delete ${name}`}
          needs="workspace:admin"
          title={`Delete ${name}?`}
          text="Code that asks for it gets nothing from then on."
          action="Delete credential"
          onConfirm={async () => {
            await client.call("DELETE /v2/credentials/{id}", { params: { id } });
            await reload();
            tell(`${name} is deleted`);
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
