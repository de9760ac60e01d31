import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { DateTimeField, SelectField, TextField } from "../components/forms/fields.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { hrefTo, replaceQuery, type ScreenProps } from "../router.ts";
import { auditTexts } from "../texts/audit.ts";
import { commonTexts } from "../texts/common.ts";
import { ActorName } from "./actor-name.tsx";
import { type AuditForm, auditActions, auditQuery, readAuditForm } from "./audit-form.ts";
import { EntryDialog } from "./entry-dialog.tsx";
import { type AuditEntry, useAudit } from "./use-audit.ts";

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
      <ErrorNotice error={error} retry={restart} />
      {(entries !== undefined || error === undefined) && (
        <Panel flush>
          <Table
            label={commonTexts.auditLog}
            columns={columnsOf(setOpen)}
            rows={entries}
            keyOf={({ id }) => id}
            empty={
              <EmptyState
                icon="clock"
                title={isComplete ? auditTexts.noEntries : auditTexts.noEntriesYet}
              >
                {isComplete ? auditTexts.noEntriesHint : auditTexts.noEntriesYetHint}
              </EmptyState>
            }
          />
          {last !== undefined && (
            <p class="pages">
              <span>
                {auditTexts.keptSince(
                  entries?.length ?? 0,
                  isComplete,
                  last.keptSince && <Time at={last.keptSince} />,
                )}
              </span>
              {!isComplete && (
                <Button compact onClick={loadOlder}>
                  {commonTexts.loadOlder}
                </Button>
              )}
            </p>
          )}
        </Panel>
      )}
      {open && <EntryDialog entry={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function FilterPanel({ submitted, restart }: { submitted: AuditForm; restart: () => void }) {
  const [form, setForm] = useState(submitted);
  const onChange = (name: keyof AuditForm) => (value: string) =>
    setForm({ ...form, [name]: value });
  const input = (name: keyof AuditForm) => ({ value: form[name], onInput: onChange(name) });
  const known = auditActions.map((value) => ({ value, text: value }));
  const isKnown = form.action === "" || known.some(({ value }) => value === form.action);
  const more = isKnown ? [] : [{ value: form.action, text: form.action }];
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        if (JSON.stringify(form) === JSON.stringify(submitted)) restart();
        else replaceQuery({ ...form });
      }}
    >
      <div class="inside search-form">
        <SelectField
          label={auditTexts.action}
          value={form.action}
          options={[{ value: "", text: auditTexts.allActions }, ...known, ...more]}
          onChange={onChange("action")}
        />
        <TextField label={auditTexts.actorId} maxLength={255} {...input("actor")} />
        <TextField label={auditTexts.resourceId} maxLength={255} {...input("resource")} />
        <DateTimeField label={commonTexts.from} {...input("from")} />
        <DateTimeField label={commonTexts.to} {...input("to")} />
        <Button kind="main" icon="search" type="submit">
          {auditTexts.apply}
        </Button>
      </div>
    </form>
  );
}

function columnsOf(open: (entry: AuditEntry) => void): Column<AuditEntry>[] {
  return [
    { title: commonTexts.time, kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: auditTexts.who, cell: (entry) => <Who entry={entry} /> },
    {
      title: auditTexts.action,
      kind: "narrow",
      cell: (entry) => (
        <button type="button" class="link" onClick={() => open(entry)}>
          {entry.action}
        </button>
      ),
    },
    { title: auditTexts.resource, kind: "name", cell: (entry) => <Resource entry={entry} /> },
    {
      title: auditTexts.changes,
      kind: "narrow",
      cell: ({ outcome, requests, addresses, changes }) => {
        if (requests !== undefined) return auditTexts.requests(requests, addresses);
        if (outcome === "failed") return <Badge tone="bad">{auditTexts.outcomes.failed}</Badge>;
        if (outcome !== undefined) return auditTexts.outcomes[outcome];
        return auditTexts.fieldCount(changes.length);
      },
    },
    { title: auditTexts.address, kind: "narrow", cell: ({ client }) => client ?? "–" },
  ];
}

/** Name of who acted, which filters the log by the member, or else the token. */
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

/** Name of an item, which filters the log by it. */
function Resource({ entry: { resource } }: { entry: AuditEntry }) {
  if (resource === undefined) return <span class="quiet">–</span>;
  return (
    <a class="cut" href={hrefTo("audit", { resource: resource.id })}>
      <Name>{resource.name ?? resource.id}</Name>
    </a>
  );
}
