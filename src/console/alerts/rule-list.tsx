import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Checkbox, SelectField, TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { Name } from "../components/name.tsx";
import type { Column } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { type FormContext, PagedList } from "../settings/paged-list.tsx";
import { alertsTexts } from "../texts/alerts.ts";
import { commonTexts } from "../texts/common.ts";

type Rule = AnswerOf<"GET /v2/alerts/rules">["rules"][number];
type Kind = Rule["kind"];

const kinds = Object.keys(alertsTexts.kinds) as Kind[];
const units: Partial<Record<Kind, string>> = alertsTexts.units;

/** List of the rules by which alerts begin and end. */
export function RuleList() {
  return (
    <PagedList
      title={alertsTexts.rules}
      load={async (page) => {
        const { rules, paging } = await client.call("GET /v2/alerts/rules", { query: { page } });
        return { items: rules, total: paging.total };
      }}
      columns={columnsOf}
      empty={{ title: alertsTexts.noRules, text: alertsTexts.rulesExplained }}
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
    {
      title: commonTexts.name,
      kind: "name",
      cell: (rule) => (
        <button type="button" class="link cut" onClick={() => edit(rule)}>
          <Name>{rule.name}</Name>
        </button>
      ),
    },
    { title: alertsTexts.condition, cell: ({ kind }) => alertsTexts.kinds[kind] },
    {
      title: alertsTexts.threshold,
      cell: ({ kind, threshold }) =>
        threshold === undefined ? "" : `${threshold} ${units[kind] ?? ""}`,
    },
    {
      title: commonTexts.state,
      kind: "narrow",
      cell: ({ enabled }) => (enabled ? commonTexts.enabled : commonTexts.disabled),
    },
  ];
}

function RuleForm({ item: rule, close, reload }: FormContext<Rule>) {
  const [kind, setKind] = useState<Kind>(rule?.kind ?? "destination-failing");
  const [name, setName] = useState(rule?.name ?? "");
  const [enabled, setEnabled] = useState(rule?.enabled ?? true);
  const [threshold, setThreshold] = useState(textOf(rule?.threshold));
  const [forSeconds, setForSeconds] = useState(textOf(rule?.forSeconds));
  const [clearSeconds, setClearSeconds] = useState(textOf(rule?.clearSeconds));
  const [from, setFrom] = useState(rule?.quietHours?.from ?? "");
  const [to, setTo] = useState(rule?.quietHours?.to ?? "");
  const [timeZone, setTimeZone] = useState(rule?.quietHours?.timeZone ?? ownTimeZone());
  const number = (key: string, text: string) => (text === "" ? {} : { [key]: Number(text) });
  return (
    <Form
      action={rule ? alertsTexts.saveRule : alertsTexts.addRule}
      onCancel={close}
      onSubmit={async () => {
        const body = {
          ...(name !== "" && { name }),
          enabled,
          ...number("threshold", threshold),
          ...number("forSeconds", forSeconds),
          ...number("clearSeconds", clearSeconds),
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
          value={kind}
          options={kinds.map((value) => ({ value, text: alertsTexts.kinds[value] }))}
          onChange={(value) => setKind(value as Kind)}
        />
      )}
      <TextField label={commonTexts.name} value={name} onInput={setName} optional={!rule} />
      {units[kind] !== undefined && (
        <TextField
          label={`${alertsTexts.threshold} (${units[kind]})`}
          type="number"
          min={1}
          value={threshold}
          onInput={setThreshold}
          placeholder={alertsTexts.useDefault}
        />
      )}
      <TextField
        label={alertsTexts.forSeconds}
        type="number"
        min={0}
        value={forSeconds}
        onInput={setForSeconds}
        placeholder={alertsTexts.useDefault}
      />
      <TextField
        label={alertsTexts.clearSeconds}
        type="number"
        min={0}
        value={clearSeconds}
        onInput={setClearSeconds}
        placeholder={alertsTexts.useDefault}
      />
      <TextField
        label={alertsTexts.quietFrom}
        value={from}
        onInput={setFrom}
        placeholder="22:00"
        hint={alertsTexts.quietHint}
        optional
      />
      <TextField
        label={alertsTexts.quietTo}
        value={to}
        onInput={setTo}
        placeholder="07:00"
        optional
      />
      {(from !== "" || to !== "") && (
        <TextField label={alertsTexts.timeZone} value={timeZone} onInput={setTimeZone} required />
      )}
      <Checkbox on={enabled} onChange={setEnabled}>
        {commonTexts.enabled}
      </Checkbox>
    </Form>
  );
}

const textOf = (value: number | undefined) => (value === undefined ? "" : String(value));
const ownTimeZone = () => new Intl.DateTimeFormat().resolvedOptions().timeZone;
