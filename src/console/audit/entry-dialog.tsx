import { Dialog } from "../components/dialog.tsx";
import { FactList } from "../components/layout.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { auditTexts } from "../texts/audit.ts";
import { commonTexts } from "../texts/common.ts";
import { ActorName } from "./actor-name.tsx";
import type { AuditEntry } from "./audit-form.ts";

type FieldChange = AuditEntry["changes"][number];

/** Dialog for an audit entry: who acted, when, from where, and changed fields before and after. */
export function EntryDialog({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { action, resource, changes, changesLeftOut, outcome } = entry;
  const name = resource?.name ?? resource?.id;
  return (
    <Dialog title={auditTexts.entryTitle(action, name)} onClose={onClose} broad>
      <EntryFacts entry={entry} />
      {changes.length === 0 ? (
        entry.requests === undefined && <p class="quiet">{auditTexts.noChanges}</p>
      ) : (
        <Table
          label={outcome === undefined ? auditTexts.changes : auditTexts.parameters}
          columns={columns}
          rows={changes}
          keyOf={({ path }) => path}
        />
      )}
      {changesLeftOut !== undefined && (
        <p class="quiet">{auditTexts.changesLeftOut(changesLeftOut)}</p>
      )}
    </Dialog>
  );
}

function EntryFacts({ entry }: { entry: AuditEntry }) {
  const { createdAt, actor, client, request, resource, outcome, reason, requests } = entry;
  const { tokenId, memberId } = actor;
  return (
    <FactList
      facts={[
        [commonTexts.time, <Time at={createdAt} />],
        [auditTexts.who, <ActorName entry={entry} />],
        memberId && [commonTexts.member, <code>{memberId}</code>],
        tokenId && [commonTexts.token, <code>{tokenId}</code>],
        client && [auditTexts.address, client],
        request && [auditTexts.request, <code>{request.route}</code>],
        resource && [commonTexts.id, <code>{resource.id}</code>],
        outcome && [commonTexts.outcome, auditTexts.outcomes[outcome]],
        reason && [commonTexts.reason, reason],
        requests !== undefined && [
          auditTexts.changes,
          auditTexts.requests(requests, entry.addresses),
        ],
      ]}
    />
  );
}

const columns: readonly Column<FieldChange>[] = [
  column.plain(commonTexts.field, ({ path }) => <code>{path}</code>),
  column.plain(auditTexts.valueBefore, (change) => <Value change={change} of="before" />),
  column.plain(auditTexts.valueAfter, (change) => <Value change={change} of="after" />),
];

function Value({ change, of }: { change: FieldChange; of: "before" | "after" }) {
  if (change.isSecret) {
    return of === "after" ? <span class="quiet">{auditTexts.secretChanged}</span> : null;
  }
  const value = change[of];
  if (value === undefined) return <span class="quiet">–</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const Tag = of === "before" ? "del" : "ins";
  return (
    <Tag class="changed">
      <bdi>{text}</bdi>
      {change.isCut && <span class="quiet"> … {auditTexts.cut}</span>}
    </Tag>
  );
}
