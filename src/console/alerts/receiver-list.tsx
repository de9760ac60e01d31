import type { AnswerOf, InputOf } from "../../api/client.ts";
import { Button } from "../components/button.tsx";
import {
  Checkbox,
  Form,
  optionsByValue,
  SelectField,
  TextField,
} from "../components/forms/fields.tsx";
import { SecretField } from "../components/forms/secret-field.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { useSave } from "../components/forms/use-save.tsx";
import { type Column, column } from "../components/table.tsx";
import { Since, Time } from "../components/time.tsx";
import { showError, showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { editColumn, type FormContext, PagedList } from "../settings/paged-list.tsx";
import { alertsTexts } from "../texts/alerts.ts";
import { commonTexts } from "../texts/common.ts";

type Receiver = AnswerOf<"GET /v2/alerts/receivers">["receivers"][number];

/** List of the receivers of alerts. A button sends a test notification to a receiver. */
export function ReceiverList() {
  return (
    <PagedList
      title={alertsTexts.receivers}
      load={(page) => client.call("GET /v2/alerts/receivers", { query: { page } })}
      itemsOf={({ receivers }) => receivers}
      columns={columnsOf}
      empty={alertsTexts.noReceivers}
      add={alertsTexts.newReceiver}
      Form={ReceiverForm}
      retrieve={(params) => client.callTagged("GET /v2/alerts/receivers/{id}", { params })}
      noun={alertsTexts.receiverNoun}
      consequence={() => alertsTexts.receiverDeleteConsequence}
      remove={(params) => client.call("DELETE /v2/alerts/receivers/{id}", { params })}
    />
  );
}

function columnsOf(
  edit: (receiver: Receiver) => void,
  reload: () => Promise<void>,
): Column<Receiver>[] {
  return [
    editColumn(edit),
    column.narrow(commonTexts.type, ({ type }) => alertsTexts.types[type]),
    column.plain(alertsTexts.address, ({ host, to }) => (
      <span class="cut">{host ?? to?.join(", ")}</span>
    )),
    column.plain(alertsTexts.lastResult, ({ enabled, sentAt, failingSince, reason }) => {
      if (!enabled) return commonTexts.disabled;
      if (failingSince !== undefined) {
        return (
          <>
            <span class="bad">{reason}</span>{" "}
            <span class="quiet small">
              <Since at={failingSince} />
            </span>
          </>
        );
      }
      return sentAt === undefined ? alertsTexts.neverNotified : <Time at={sentAt} />;
    }),
    column.narrow(alertsTexts.sendTest, (receiver) => (
      <Button compact needs="workspace:admin" onClick={() => sendTest(receiver).finally(reload)}>
        {alertsTexts.sendTest}
      </Button>
    )),
  ];
}

async function sendTest({ id, name }: Receiver): Promise<void> {
  const answer = await client.call("POST /v2/alerts/receivers/{id}/test", { params: { id } });
  if (answer.ok) showToast(alertsTexts.testSent(name));
  else showError(new Error(alertsTexts.testFailed(name, answer.message ?? "")));
}

function ReceiverForm({ answer, tag, close, reload }: FormContext<{ receiver: Receiver }>) {
  const receiver = answer?.receiver;
  const { values, input, select, checkbox, set } = useFields({
    type: receiver?.type ?? "slack",
    name: receiver?.name ?? "",
    enabled: receiver?.enabled ?? true,
    secret: "" as string | null,
    authorization: "" as string | null,
    to: receiver?.to?.join(", ") ?? "",
  });
  const { type, name, enabled, secret, authorization, to } = values;
  const isNew = receiver === undefined;
  const secretKey = type === "pagerduty" ? "routingKey" : "url";
  const isSet = (key: string) => receiver?.secretsSet.includes(`/${key}`);
  const { save, conflict } = useSave({
    base: answer ? valuesOf(answer) : {},
    tag,
    send: (body, ifMatch) => {
      if (receiver) {
        const params = { id: receiver.id };
        return client.call("PUT /v2/alerts/receivers/{id}", { params, body, ifMatch });
      }
      const created = { type, ...body } as InputOf<"POST /v2/alerts/receivers">[0]["body"];
      return client.call("POST /v2/alerts/receivers", { body: created });
    },
    valuesOf,
    labelOf: (key) => labels[key] ?? key,
    schemaOf: (key) => ({ writeOnly: secretKeys.includes(key) }),
  });
  return (
    <Form
      action={isNew ? alertsTexts.addReceiver : alertsTexts.saveReceiver}
      onCancel={close}
      conflict={conflict}
      onSubmit={async () => {
        const yours = {
          name,
          enabled,
          ...(type !== "email" && secret !== "" && { [secretKey]: secret }),
          ...(type === "webhook" && authorization !== "" && { authorization }),
          ...(type === "email" && { to: addressesOf(to) }),
        };
        if (!(await save(yours))) return;
        await reload();
        close();
      }}
    >
      <TextField label={commonTexts.name} required autoFocus {...input("name")} />
      {isNew && (
        <SelectField
          label={commonTexts.type}
          options={optionsByValue(alertsTexts.types)}
          {...select("type")}
        />
      )}
      {type === "email" ? (
        <TextField
          label={alertsTexts.addresses}
          hint={alertsTexts.addressesHint}
          required
          isList
          {...input("to")}
        />
      ) : (
        <SecretField
          label={type === "pagerduty" ? alertsTexts.routingKey : alertsTexts.url}
          path={`/${secretKey}`}
          value={secret}
          onChange={(typed) => set({ secret: typed })}
          isSet={isSet(secretKey)}
          required={isNew}
        />
      )}
      {type === "webhook" && (
        <SecretField
          label={alertsTexts.authorization}
          path="/authorization"
          value={authorization}
          onChange={(typed) => set({ authorization: typed })}
          isSet={isSet("authorization")}
          required={false}
          optional
        />
      )}
      <Checkbox {...checkbox("enabled")}>{commonTexts.enabled}</Checkbox>
    </Form>
  );
}

const labels: Record<string, string> = {
  name: commonTexts.name,
  enabled: commonTexts.enabled,
  url: alertsTexts.url,
  routingKey: alertsTexts.routingKey,
  authorization: alertsTexts.authorization,
  to: alertsTexts.addresses,
};
const secretKeys: readonly string[] = ["url", "routingKey", "authorization"];

/**
 * Returns the form values of a stored receiver of alerts. They include no secrets, because the API
 * never returns any.
 */
const valuesOf = ({ receiver }: { receiver: Receiver }) => ({
  name: receiver.name,
  enabled: receiver.enabled,
  ...(receiver.to && { to: receiver.to }),
});

const addressesOf = (text: string) =>
  text
    .split(",")
    .map((address) => address.trim())
    .filter(Boolean);
