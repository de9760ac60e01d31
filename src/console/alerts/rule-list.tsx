import type { AnswerOf } from "../../api/client.ts";
import { Checkbox, optionsByValue, SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { type Column, column, narrowColumn } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { editColumn, type FormContext, PagedList } from "../settings/paged-list.tsx";
import { alertsTexts } from "../texts/alerts.ts";
import { commonTexts } from "../texts/common.ts";

type Rule = AnswerOf<"GET /v2/alerts/rules">["rules"][number];
type Kind = Rule["kind"];

const units: Partial<Record<Kind, string>> = alertsTexts.units;

/** List of the rules by which alerts begin and end. */
export function RuleList() {
  return (
    <PagedList
      title={alertsTexts.rules}
      load={(page) => client.call("GET /v2/alerts/rules", { query: { page } })}
      itemsOf={({ rules }) => rules}
      columns={columnsOf}
      empty={alertsTexts.noRules}
      add={alertsTexts.newRule}
      form={(context) => <RuleForm {...context} />}
      deletion={{
        noun: alertsTexts.ruleNoun,
        consequence: () => alertsTexts.ruleDeleteConsequence,
        remove: (params) => client.call("DELETE /v2/alerts/rules/{id}", { params }),
      }}
    />
  );
}

function columnsOf(edit: (rule: Rule) => void): Column<Rule>[] {
  return [
    editColumn(edit),
    column(alertsTexts.condition, ({ kind }) => alertsTexts.kinds[kind]),
    column(alertsTexts.threshold, ({ kind, threshold }) =>
      threshold === undefined ? "" : `${threshold} ${units[kind] ?? ""}`,
    ),
    narrowColumn(commonTexts.state, ({ enabled }) =>
      enabled ? commonTexts.enabled : commonTexts.disabled,
    ),
  ];
}

function RuleForm({ item: rule, close, reload }: FormContext<Rule>) {
  const { values, input, select, checkbox } = useFields({
    kind: rule?.kind ?? "destination-failing",
    name: rule?.name ?? "",
    enabled: rule?.enabled ?? true,
    threshold: textOf(rule?.threshold),
    forSeconds: textOf(rule?.forSeconds),
    clearSeconds: textOf(rule?.clearSeconds),
    from: "",
    to: "",
    timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...rule?.quietHours,
  });
  const { kind, name, enabled, from, to, timeZone } = values;
  const number = (key: "threshold" | "forSeconds" | "clearSeconds") =>
    values[key] === "" ? {} : { [key]: Number(values[key]) };
  return (
    <Form
      action={rule ? alertsTexts.saveRule : alertsTexts.addRule}
      onCancel={close}
      onSubmit={async () => {
        const body = {
          ...(name !== "" && { name }),
          enabled,
          ...number("threshold"),
          ...number("forSeconds"),
          ...number("clearSeconds"),
          quietHours: from === "" && to === "" ? null : { from, to, timeZone },
        };
        if (rule) {
          await client.call("PUT /v2/alerts/rules/{id}", { params: { id: rule.id }, body });
        } else {
          await client.call("POST /v2/alerts/rules", { body: { kind, ...body } });
        }
        await reload();
        close();
      }}
    >
      {rule === undefined && (
        <SelectField
          label={alertsTexts.condition}
          options={optionsByValue(alertsTexts.kinds)}
          {...select("kind")}
        />
      )}
      <TextField label={commonTexts.name} optional={!rule} {...input("name")} />
      {units[kind] !== undefined && (
        <TextField
          label={`${alertsTexts.threshold} (${units[kind]})`}
          type="number"
          min={1}
          placeholder={alertsTexts.useDefault}
          {...input("threshold")}
        />
      )}
      {(["forSeconds", "clearSeconds"] as const).map((key) => (
        <TextField
          key={key}
          label={alertsTexts[key]}
          type="number"
          min={0}
          placeholder={alertsTexts.useDefault}
          {...input(key)}
        />
      ))}
      <TextField
        label={alertsTexts.quietFrom}
        placeholder="22:00"
        hint={alertsTexts.quietHint}
        optional
        {...input("from")}
      />
      <TextField label={alertsTexts.quietTo} placeholder="07:00" optional {...input("to")} />
      {(from !== "" || to !== "") && (
        <TextField label={alertsTexts.timeZone} required {...input("timeZone")} />
      )}
      <Checkbox {...checkbox("enabled")}>{commonTexts.enabled}</Checkbox>
    </Form>
  );
}

const textOf = (value: number | undefined) => (value === undefined ? "" : String(value));
