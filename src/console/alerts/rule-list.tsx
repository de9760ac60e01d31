import type { AnswerOf } from "../../api/client.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Checkbox, Form, SelectField, TextField } from "../components/forms/fields.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { useSave } from "../components/forms/use-save.tsx";
import type { EmptyText } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { SearchedNameField } from "../components/name-select.tsx";
import { type Column, column } from "../components/table.tsx";
import { client } from "../data/session.ts";
import { type NameSearch, type SearchedKind, useNameSearch } from "../data/use-name-search.ts";
import { type NameLookup, useNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import { editColumn, type FormContext, formValues, PagedList } from "../settings/paged-list.tsx";
import { alertsTexts } from "../texts/alerts.ts";
import { commonTexts } from "../texts/common.ts";

type Rule = AnswerOf<"GET /v2/alerts/rules">["rules"][number];
type Kind = Rule["kind"];

const units: Partial<Record<Kind, string>> = alertsTexts.units;

/** Notice in place of an empty list of alerts or alert rules if the workspace has no receiver. */
export const noReceiver: EmptyText = {
  icon: "alert",
  ...alertsTexts.noReceiverYet,
  action: (
    <LinkButton kind="main" href={hrefTo("alerts", "receivers")}>
      {alertsTexts.setUpReceiver}
    </LinkButton>
  ),
};

/** List of alert rules. A rule says when an alert begins and ends. */
export function RuleList() {
  const names = useNames();
  const receivers = useNameSearch("receiver");
  return (
    <PagedList
      title={alertsTexts.rules}
      load={(page) => client.call("GET /v2/alerts/rules", { query: { page } })}
      itemsOf={({ rules }) => rules}
      columns={(edit) => columnsOf(edit, names, receivers)}
      empty={receivers.total === 0 ? noReceiver : alertsTexts.noRules}
      add={alertsTexts.newRule}
      Form={RuleForm}
      retrieve={(params) => client.callTagged("GET /v2/alerts/rules/{id}", { params })}
      noun={alertsTexts.ruleNoun}
      consequence={() => alertsTexts.ruleDeleteConsequence}
      remove={(params) => client.call("DELETE /v2/alerts/rules/{id}", { params })}
    />
  );
}

function columnsOf(
  edit: (rule: Rule) => void,
  names: NameLookup,
  receivers: NameSearch,
): Column<Rule>[] {
  return [
    editColumn(edit),
    column.plain(alertsTexts.condition, ({ kind }) => alertsTexts.kinds[kind]),
    column.plain(alertsTexts.threshold, ({ kind, threshold }) =>
      threshold === undefined ? "" : `${threshold} ${units[kind] ?? ""}`,
    ),
    column.plain(alertsTexts.about, ({ subject, subjectIds }) => {
      if (subject === "server") return alertsTexts.wholeServer;
      return chosenNames(subject, subjectIds, names[subject]);
    }),
    column.plain(alertsTexts.sentTo, ({ receiverIds }) =>
      chosenNames("receiver", receiverIds, receivers.nameOf),
    ),
    column.narrow(commonTexts.state, ({ enabled }) =>
      enabled ? commonTexts.enabled : commonTexts.disabled,
    ),
  ];
}

/**
 * Returns the names of the items with the given ids. If `ids` is empty, returns the text for all
 * items of the kind, such as `All receivers`.
 */
const chosenNames = (kind: SearchedKind, ids: readonly string[], nameOf: (id: string) => string) =>
  ids.length === 0 ? alertsTexts.chosen[kind].all : <Name>{ids.map(nameOf).join(", ")}</Name>;

function RuleForm({ answer, tag, close, reload }: FormContext<{ rule: Rule }>) {
  const rule = answer?.rule;
  const { values, input, set, checkbox } = useFields({
    kind: rule?.kind ?? "destination-failing",
    name: rule?.name ?? "",
    enabled: rule?.enabled ?? true,
    threshold: textOf(rule?.threshold),
    forSeconds: textOf(rule?.forSeconds),
    clearSeconds: textOf(rule?.clearSeconds),
    subjectIds: rule?.subjectIds ?? [],
    receiverIds: rule?.receiverIds ?? [],
    from: "",
    to: "",
    timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...rule?.quietHours,
  });
  const { kind, name, enabled, subjectIds, receiverIds, from, to, timeZone } = values;
  const offered = useResource(async () => {
    if (rule) return [];
    return (await client.call("GET /v2/alerts/rule-kinds")).kinds;
  }, [rule?.id]);
  const { subject } = rule ?? offered.value?.find((it) => it.kind === kind) ?? {};
  const { save, conflict } = useSave({
    base: answer ? valuesOf(answer) : {},
    tag,
    send: (body, ifMatch) =>
      rule
        ? client.call("PUT /v2/alerts/rules/{id}", { params: { id: rule.id }, body, ifMatch })
        : client.call("POST /v2/alerts/rules", { body: { kind, ...body } }),
    valuesOf,
    labelOf: (key) => labels[key] ?? key,
  });
  return (
    <Form
      action={rule ? alertsTexts.saveRule : alertsTexts.addRule}
      onCancel={close}
      conflict={conflict}
      onSubmit={async () => {
        const yours = {
          ...(name !== "" && { name }),
          enabled,
          subjectIds,
          receiverIds,
          threshold: numberOf(values.threshold),
          forSeconds: numberOf(values.forSeconds),
          clearSeconds: numberOf(values.clearSeconds),
          quietHours: from === "" && to === "" ? null : { from, to, timeZone },
        };
        if (!(await save(yours))) return;
        await reload();
        close();
      }}
    >
      <ErrorNotice error={offered.error} retry={offered.reload} />
      {rule === undefined && (
        <SelectField
          label={alertsTexts.condition}
          options={(offered.value ?? [{ kind }]).map((it) => ({
            value: it.kind,
            text: alertsTexts.kinds[it.kind],
          }))}
          path="/kind"
          value={kind}
          // The items and the threshold of a rule mean nothing for a rule of another kind.
          onChange={(next) => set({ kind: next as Kind, subjectIds: [], threshold: "" })}
        />
      )}
      <TextField
        label={commonTexts.name}
        optional={!rule}
        required={rule !== undefined}
        {...input("name")}
      />
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
      {subject !== undefined && subject !== "server" && (
        <ChosenItems
          key={subject}
          kind={subject}
          path="/subjectIds"
          ids={subjectIds}
          onChange={(ids) => set({ subjectIds: ids })}
        />
      )}
      <ChosenItems
        kind="receiver"
        path="/receiverIds"
        ids={receiverIds}
        onChange={(ids) => set({ receiverIds: ids })}
      />
      <TextField
        label={alertsTexts.quietFrom}
        placeholder="22:00"
        hint={alertsTexts.quietHint}
        optional
        {...input("from", "/quietHours/from")}
      />
      <TextField
        label={alertsTexts.quietTo}
        placeholder="07:00"
        optional
        {...input("to", "/quietHours/to")}
      />
      {(from !== "" || to !== "") && (
        <TextField
          label={alertsTexts.timeZone}
          required
          {...input("timeZone", "/quietHours/timeZone")}
        />
      )}
      <Checkbox {...checkbox("enabled")}>{commonTexts.enabled}</Checkbox>
    </Form>
  );
}

/**
 * Form field for a list of items in an alert rule: the sources, destinations or transformations
 * that the rule watches, or the receivers that it notifies. An empty list stands for all items of
 * the kind.
 */
function ChosenItems(props: {
  kind: SearchedKind;
  /** JSON pointer to the list of chosen ids in the request's body. */
  path: string;
  ids: readonly string[];
  onChange: (ids: string[]) => void;
}) {
  const { kind, path, ids, onChange } = props;
  const { title, all, add } = alertsTexts.chosen[kind];
  const names = useNameSearch(kind);
  return (
    <fieldset class="group">
      <legend>{title}</legend>
      {ids.length === 0 && <p class="quiet small">{all}</p>}
      {ids.length > 0 && (
        <ul>
          {ids.map((id) => (
            <li key={id} class="entry">
              <Name cut>{names.nameOf(id)}</Name>
              <Button
                kind="plain"
                compact
                icon="close"
                label={commonTexts.removeNamed(names.nameOf(id))}
                onClick={() => onChange(ids.filter((it) => it !== id))}
              />
            </li>
          ))}
        </ul>
      )}
      <SearchedNameField
        label={add}
        path={path}
        isList
        value=""
        none={commonTexts.selectOne}
        names={names}
        without={new Set(ids)}
        onChange={(id) => id !== "" && onChange([...ids, id])}
      />
    </fieldset>
  );
}

const labels: Record<string, string> = {
  name: commonTexts.name,
  enabled: commonTexts.enabled,
  subjectIds: alertsTexts.about,
  receiverIds: alertsTexts.sentTo,
  threshold: alertsTexts.threshold,
  forSeconds: alertsTexts.forSeconds,
  clearSeconds: alertsTexts.clearSeconds,
  quietHours: alertsTexts.quietHours,
};

const valuesOf = ({ rule }: { rule: Rule }) => formValues(rule, labels);

/**
 * Converts the text of a number field to a number. Returns null for a blank field, so that the
 * server uses its default.
 */
const numberOf = (text: string) => (text === "" ? null : Number(text));

const textOf = (value: number | undefined) => (value === undefined ? "" : String(value));
