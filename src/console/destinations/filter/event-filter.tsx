import { Button } from "../../components/button.tsx";
import { Form, SelectField, TextAreaField, TextField } from "../../components/forms/fields.tsx";
import { UnsavedChanges, useItemForm } from "../../components/forms/use-save.tsx";
import { Panel } from "../../components/layout.tsx";
import type { Destination } from "../../data/model.ts";
import type { StoredState, Values } from "../../data/save.ts";
import { client } from "../../data/session.ts";
import { commonTexts } from "../../texts/common.ts";
import { filterTexts } from "../../texts/event-filter.ts";

type EventFilter = NonNullable<Destination["filter"]>;
type Condition = EventFilter["conditions"][number];

/** Value of the form's mode field for a destination without a filter, which gets all events. */
const ALL = "all";
const modes = [ALL, "only", "except"] as const;

/**
 * Panel with the form for a destination's event filter: conditions that decide, without user code,
 * which events the destination gets.
 */
export function EventFilterPanel(props: StoredState & { destination: Destination }) {
  const { destination, tag, reload } = props;
  const params = { id: destination.id };
  const form = useItemForm({
    name: `filter/${destination.id}`,
    base: valuesOf(destination),
    tag,
    reload,
    savedText: filterTexts.saved,
    send: (values, ifMatch) => {
      const body = { filter: values.filter as EventFilter | null };
      return client.callTagged("PUT /v2/destinations/{id}", { params, body, ifMatch });
    },
    valuesOf: (current: { destination: Destination }) => valuesOf(current.destination),
    labelOf: () => filterTexts.filter,
  });
  const filter = form.values.filter as EventFilter | null;
  const edit = (next: EventFilter | null) => form.edit({ filter: next });
  const conditions = filter?.conditions ?? [];
  const editConditions = (next: Condition[]) => filter && edit({ ...filter, conditions: next });

  return (
    <Panel title={filterTexts.filter}>
      <Form
        isNarrow
        action={filterTexts.save}
        conflict={form.conflict}
        onSubmit={() =>
          form.submit({ filter: trimmed(filter, form.base.filter as EventFilter | null) })
        }
      >
        <UnsavedChanges form={form} />
        <SelectField
          label={commonTexts.events}
          hint={filterTexts.explained}
          path="/filter/mode"
          value={filter?.mode ?? ALL}
          options={modes.map((value) => ({ value, text: filterTexts.modes[value] }))}
          onChange={(mode) =>
            edit(mode === ALL ? null : withMode(filter, mode as EventFilter["mode"]))
          }
        />
        {conditions.map((condition, at) => (
          <ConditionFields
            key={at}
            number={at + 1}
            condition={condition}
            path={`/filter/conditions/${at}`}
            onChange={(next) => editConditions(conditions.with(at, next))}
            {...(conditions.length > 1 && {
              onRemove: () => editConditions(conditions.toSpliced(at, 1)),
            })}
          />
        ))}
        {filter && (
          <div class="row">
            <Button
              compact
              icon="plus"
              onClick={() => editConditions([...conditions, { path: "", values: [] }])}
            >
              {filterTexts.add}
            </Button>
          </div>
        )}
      </Form>
    </Panel>
  );
}

/** Fields of one condition, and a button that removes it. */
function ConditionFields(props: {
  number: number;
  condition: Condition;
  /** JSON pointer to the condition in the request's body. */
  path: string;
  onChange: (condition: Condition) => void;
  /** Removes the condition. Absent if it is the only condition of the filter. */
  onRemove?: () => void;
}) {
  const { number, condition, path: at, onChange, onRemove } = props;
  return (
    <fieldset class="group">
      <legend>{filterTexts.condition(number)}</legend>
      <TextField
        label={commonTexts.field}
        hint={filterTexts.fieldHint}
        value={condition.path}
        onInput={(path) => onChange({ ...condition, path })}
        path={`${at}/path`}
        required
        code
      />
      <TextAreaField
        label={filterTexts.values}
        hint={filterTexts.valuesHint}
        value={condition.values.join("\n")}
        onInput={(text) => onChange({ ...condition, values: text.split("\n") })}
        path={`${at}/values`}
      />
      {onRemove && (
        <Button compact onClick={onRemove}>
          {filterTexts.remove}
        </Button>
      )}
    </fieldset>
  );
}

function withMode(filter: EventFilter | null, mode: EventFilter["mode"]): EventFilter {
  return { mode, conditions: filter?.conditions ?? [{ path: "event", values: [] }] };
}

function valuesOf({ filter }: Pick<Destination, "filter">): Values {
  return { filter: filter ?? null };
}

/**
 * Returns the filter without spaces around its paths and values, and without empty values. Paths of
 * the stored filter, and values that it has for the same path, stay as they are.
 */
function trimmed(filter: EventFilter | null, stored: EventFilter | null): EventFilter | null {
  if (filter === null) return null;
  const storedAt = (path: string) => stored?.conditions.filter((it) => it.path === path) ?? [];
  const conditions = filter.conditions.map((condition) => {
    const isStored = storedAt(condition.path).length > 0;
    const path = isStored ? condition.path : condition.path.trim();
    const kept = new Set(storedAt(path).flatMap(({ values }) => values));
    const values = condition.values
      .map((value) => (kept.has(value) ? value : value.trim() || undefined))
      .filter((value) => value !== undefined);
    return { path, values };
  });
  return { ...filter, conditions };
}
