import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Button } from "../components/button.tsx";
import { CodeBlock } from "../components/code-block.tsx";
import { DateTimeField, Form, SelectField, TextField } from "../components/forms/fields.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { Badge } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { allPages } from "../data/all-pages.ts";
import type { Permission } from "../data/model.ts";
import { client, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { settingsTexts } from "../texts/settings.ts";
import { type FormContext, PagedList } from "./paged-list.tsx";
import { PermissionBadges, PermissionCheckboxes } from "./permissions.tsx";

type Token = AnswerOf<"GET /v2/tokens">["tokens"][number];

const isCurrent = ({ id }: Token) => id === session.value?.token.id;

/** List of API tokens: tokens of services, and personal tokens of members. */
export function TokenList() {
  return (
    <PagedList
      title={settingsTexts.tokens}
      load={(page) => client.call("GET /v2/tokens", { query: { page } })}
      itemsOf={({ tokens }) => tokens}
      columns={() => columns}
      empty={settingsTexts.noTokens}
      add={settingsTexts.newToken}
      Form={TokenForm}
      verb="revoke"
      noun={settingsTexts.tokenNoun}
      consequence={(token) =>
        isCurrent(token) ? settingsTexts.revokeOwnConsequence : settingsTexts.revokeConsequence
      }
      remove={(params) => client.call("DELETE /v2/tokens/{id}", { params })}
    />
  );
}

const columns: Column<Token>[] = [
  column.name(commonTexts.name, (token) => (
    <span class="row">
      <Name cut>{token.name}</Name>
      {isCurrent(token) && <Badge tone="accent">{settingsTexts.current}</Badge>}
    </span>
  )),
  column.narrow(settingsTexts.kind, ({ memberId }) => (
    <Badge flat>{memberId === undefined ? settingsTexts.service : settingsTexts.personal}</Badge>
  )),
  column.plain(settingsTexts.permissions, ({ permissions }) => (
    <PermissionBadges of={permissions} />
  )),
  column.narrow(settingsTexts.lastUsed, ({ lastUsedAt }) =>
    lastUsedAt ? <Time at={lastUsedAt} /> : settingsTexts.never,
  ),
  column.narrow(settingsTexts.expires, ({ expiresAt }) =>
    expiresAt ? <Time at={expiresAt} /> : settingsTexts.never,
  ),
];

function TokenForm({ close, reload }: FormContext<unknown>) {
  const { values, input, select, set } = useFields({
    name: "",
    memberId: "",
    permissions: ["events:read"] as Permission[],
    expires: "",
  });
  const { name, memberId, permissions, expires } = values;
  const [secret, setSecret] = useState<string>();
  const { value: members } = useResource(
    () =>
      allPages(
        (page) => client.call("GET /v2/members", { query: { page } }),
        (answer) => answer.members,
      ),
    [],
  );
  const { items = [], total = 0 } = members ?? {};
  if (secret !== undefined) {
    return (
      <>
        <p class="notice warn">{settingsTexts.copyTokenNow}</p>
        <CodeBlock text={secret} name={settingsTexts.tokenNoun} wrap />
        <div class="ends">
          <Button kind="main" onClick={close}>
            {settingsTexts.done}
          </Button>
        </div>
      </>
    );
  }
  return (
    <Form
      action={settingsTexts.createToken}
      onCancel={close}
      onSubmit={async () => {
        const body = {
          name,
          ...(memberId === "" ? { permissions } : { memberId }),
          ...(expires !== "" && { expiresAt: new Date(expires).toISOString() }),
        };
        const { token } = await client.call("POST /v2/tokens", { body });
        setSecret(token.secret);
        await reload();
      }}
    >
      <TextField label={commonTexts.name} required autoFocus {...input("name")} />
      <SelectField
        label={settingsTexts.owner}
        hint={items.length < total && settingsTexts.membersCut(items.length, total)}
        options={[
          { value: "", text: settingsTexts.ownerService },
          ...items.map((it) => ({ value: it.id, text: `${isolated(it.name)} (${it.email})` })),
        ]}
        {...select("memberId")}
      />
      {memberId === "" && (
        <PermissionCheckboxes
          granted={permissions}
          onChange={(granted) => set({ permissions: granted })}
        />
      )}
      <DateTimeField label={settingsTexts.expiresAt} optional {...input("expires", "/expiresAt")} />
    </Form>
  );
}
