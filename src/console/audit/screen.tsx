import { useState } from "preact/hooks";
import {
  DateTimeField,
  includeCurrent,
  SelectField,
  TextField,
} from "../components/forms/fields.tsx";
import { FilterForm } from "../components/forms/filter-form.tsx";
import { Badge, ScreenHeader } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column, OlderRows, TablePanel } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { hrefTo, type ScreenProps } from "../router.ts";
import { auditTexts } from "../texts/audit.ts";
import { commonTexts } from "../texts/common.ts";
import {
  type AuditEntry,
  type AuditForm,
  auditActions,
  auditQuery,
  readAuditForm,
  useAudit,
} from "./audit-form.ts";
import { ActorName, EntryDialog } from "./entry-dialog.tsx";

/** Screen of the audit log: who changed what, newest first. */
export function Screen({ query }: ScreenProps) {
  const form = readAuditForm(query);
  const { items: entries, last, error, restart, loadOlder } = useAudit(form);
  const [open, setOpen] = useState<AuditEntry>();
  const isComplete = last?.cursor === undefined;
  return (
    <>
      <ScreenHeader title={commonTexts.auditLog}>
        <a
          class="button"
          href={`/v2/audit/export?${new URLSearchParams(auditQuery(form))}`}
          download
        >
          {commonTexts.exportJsonl}
        </a>
      </ScreenHeader>
      <FilterPanel key={JSON.stringify(form)} submitted={form} restart={restart} />
      <TablePanel
        label={commonTexts.auditLog}
        columns={columnsOf(setOpen)}
        rows={entries}
        keyOf={({ id }) => id}
        empty={{ icon: "clock", ...auditTexts[isComplete ? "noResults" : "noResultsYet"] }}
        error={error}
        retry={restart}
      >
        {last && (
          <OlderRows
            text={auditTexts.keptSince(
              entries?.length ?? 0,
              isComplete,
              last.keptSince && <Time at={last.keptSince} />,
            )}
            isComplete={isComplete}
            loadOlder={loadOlder}
          />
        )}
      </TablePanel>
      {open && <EntryDialog entry={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

const actionOptions = auditActions.map((value) => ({ value, text: value }));

function FilterPanel(props: { submitted: AuditForm; restart: () => void }) {
  const options = includeCurrent(actionOptions, props.submitted.action);
  return (
    <FilterForm {...props} action={auditTexts.apply}>
      {({ input, select }) => (
        <>
          <SelectField
            label={auditTexts.action}
            options={[{ value: "", text: auditTexts.allActions }, ...options]}
            {...select("action")}
          />
          <TextField label={auditTexts.actorId} maxLength={255} {...input("actor")} />
          <TextField label={auditTexts.resourceId} maxLength={255} {...input("resource")} />
          <DateTimeField label={commonTexts.from} {...input("from")} />
          <DateTimeField label={commonTexts.to} {...input("to")} />
        </>
      )}
    </FilterForm>
  );
}

function columnsOf(open: (entry: AuditEntry) => void): Column<AuditEntry>[] {
  return [
    column.narrow(commonTexts.time, ({ createdAt }) => <Time at={createdAt} />),
    column.plain(auditTexts.who, (entry) => <Who entry={entry} />),
    column.narrow(auditTexts.action, (entry) => (
      <button type="button" class="link" onClick={() => open(entry)}>
        {entry.action}
      </button>
    )),
    column.name(auditTexts.resource, (entry) => <Resource entry={entry} />),
    column.narrow(auditTexts.changes, ({ outcome, requests, addresses, changes }) => {
      if (requests !== undefined) return auditTexts.requests(requests, addresses);
      if (outcome === "failed") return <Badge tone="bad">{auditTexts.outcomes.failed}</Badge>;
      if (outcome !== undefined) return auditTexts.outcomes[outcome];
      return auditTexts.fieldCount(changes.length);
    }),
    column.narrow(auditTexts.address, ({ client }) => client ?? "–"),
  ];
}

/** Name of the member or token that acted. A click filters the log by this member or token. */
function Who({ entry }: { entry: AuditEntry }) {
  const { memberId, tokenId } = entry.actor;
  const actor = memberId ?? tokenId;
  if (actor === undefined) return <ActorName entry={entry} />;
  return (
    <a class="cut" href={hrefTo("audit", { actor })}>
      <ActorName entry={entry} />
    </a>
  );
}

/** Name of the item that was changed. A click filters the log by this item. */
function Resource({ entry: { resource } }: { entry: AuditEntry }) {
  if (resource === undefined) return <span class="quiet">–</span>;
  return (
    <a class="cut" href={hrefTo("audit", { resource: resource.id })}>
      <Name>{resource.name ?? resource.id}</Name>
    </a>
  );
}
