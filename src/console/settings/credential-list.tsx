import type { AnswerOf } from "../../api/client.ts";
import { Form, TextField } from "../components/forms/fields.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { Name } from "../components/name.tsx";
import { type Column, column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client } from "../data/session.ts";
import { commonTexts } from "../texts/common.ts";
import { settingsTexts } from "../texts/settings.ts";
import { type FormContext, PagedList } from "./paged-list.tsx";

type Credential = AnswerOf<"GET /v2/credentials">["credentials"][number];

/**
 * List of the workspace's credentials. User code reads them with `getCredential`. The API never
 * returns their values.
 */
export function CredentialList() {
  return (
    <PagedList
      title={settingsTexts.credentials}
      load={(page) => client.call("GET /v2/credentials", { query: { page } })}
      itemsOf={({ credentials }) => credentials}
      columns={() => columns}
      empty={settingsTexts.noCredentials}
      add={settingsTexts.setCredential}
      Form={CredentialForm}
      noun={settingsTexts.credentialNoun}
      consequence={() => settingsTexts.credentialDeleteConsequence}
      remove={(params) => client.call("DELETE /v2/credentials/{id}", { params })}
    />
  );
}

const columns: Column<Credential>[] = [
  column.name(commonTexts.name, ({ name }) => (
    <code class="cut">
      <Name>{name}</Name>
    </code>
  )),
  column.plain(settingsTexts.inCode, ({ name }) => (
    <code class="quiet cut">{settingsTexts.inCodeExample(name)}</code>
  )),
  column.narrow(commonTexts.updated, ({ updatedAt }) => <Time at={updatedAt} />),
];

function CredentialForm({ close, reload }: FormContext<unknown>) {
  const { values: body, input } = useFields({ name: "", value: "" });
  return (
    <Form
      action={settingsTexts.setCredential}
      onCancel={close}
      onSubmit={async () => {
        await client.call("POST /v2/credentials", { body });
        await reload();
        close();
      }}
    >
      <TextField
        label={commonTexts.name}
        required
        autoFocus
        code
        placeholder={settingsTexts.credentialNameExample}
        hint={settingsTexts.credentialNameHint}
        {...input("name")}
      />
      <TextField
        label={commonTexts.value}
        type="password"
        autoComplete="new-password"
        required
        {...input("value")}
      />
    </Form>
  );
}
