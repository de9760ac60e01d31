import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import type { Column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client } from "../data/session.ts";
import { type FormContext, PagedList } from "./paged-list.tsx";

type Credential = AnswerOf<"GET /v2/credentials">["credentials"][number];

/**
 * List of the workspace's credentials. User code reads them with `getCredential`. The API never
 * returns their values.
 */
export function CredentialList() {
  return (
    <PagedList
      title="Credentials"
      load={async (page) => {
        const { credentials, paging } = await client.call("GET /v2/credentials", {
          query: { page },
        });
        return { items: credentials, total: paging.total };
      }}
      columns={() => columns}
      empty={{
        title: "No credentials yet",
        text: "A credential is a secret that code reads by its name, such as the key of another service. Its value is not shown again.",
      }}
      add="Set credential"
      form={(context) => <CredentialForm {...context} />}
      deletion={{
        noun: "credential",
        consequence: () => "Code that reads it gets no value from then on.",
        remove: (params) => client.call("DELETE /v2/credentials/{id}", { params }),
      }}
    />
  );
}

const columns: Column<Credential>[] = [
  { title: "Name", kind: "name", cell: ({ name }) => <code class="cut">{name}</code> },
  {
    title: "In code",
    cell: ({ name }) => <code class="quiet cut">getCredential("{name}")</code>,
  },
  { title: "Updated", kind: "narrow", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
];

function CredentialForm({ close, reload }: FormContext<Credential>) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  return (
    <Form
      action="Set credential"
      onCancel={close}
      onSubmit={async () => {
        await client.call("POST /v2/credentials", { body: { name, value } });
        await reload();
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
        hint="Letters, digits and underscores. An existing credential is replaced."
      />
      <TextField
        label="Value"
        type="password"
        autoComplete="new-password"
        value={value}
        onInput={setValue}
        required
      />
    </Form>
  );
}
