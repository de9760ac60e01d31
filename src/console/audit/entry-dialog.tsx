import { Dialog } from "../components/dialog.tsx";
import { FactList } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { auditTexts } from "../texts/audit.ts";
import { commonTexts } from "../texts/common.ts";
import type { AuditEntry } from "./audit-form.ts";

type FieldChange = AuditEntry["changes"][number];

/** Dialog for an audit entry: who acted, when, from where, and old and new values of fields. */
export function EntryDialog({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { action, actor, client, request, resource, outcome, reason, requests } = entry;
  const { addresses, changes, changesLeftOut } = entry;
  const name = resource?.name ?? resource?.id;
  return (
    <Dialog title={auditTexts.entryTitle(action, name)} onClose={onClose} broad>
      <FactList
        facts={[
          [commonTexts.time, <Time at={entry.createdAt} />],
          [auditTexts.who, <ActorName entry={entry} />],
          actor.memberId && [commonTexts.member, <code>{actor.memberId}</code>],
          actor.tokenId && [commonTexts.token, <code>{actor.tokenId}</code>],
          client && [auditTexts.address, client],
          request && [auditTexts.request, <code>{request.route}</code>],
          resource && [commonTexts.id, <code>{resource.id}</code>],
          outcome && [commonTexts.outcome, auditTexts.outcomes[outcome]],
          reason && [commonTexts.reason, reason],
          requests !== undefined && [auditTexts.changes, auditTexts.requests(requests, addresses)],
        ]}
      />
      {changes.length === 0 ? (
        requests === undefined && <p class="quiet">{auditTexts.noChanges}</p>
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

/**
 * Shows the member or API token that caused an audit entry, by its name at that time. Without
 * either, shows that the server or an unknown caller caused the entry.
 */
export function ActorName({ entry }: { entry: Pick<AuditEntry, "actor" | "requests"> }) {
  const { memberName, tokenName, tokenId } = entry.actor;
  const token = tokenName ?? tokenId;
  if (memberName === undefined && token === undefined) {
    const text = entry.requests === undefined ? auditTexts.server : auditTexts.unknownCaller;
    return <span class="quiet">{text}</span>;
  }
  return (
    <bdi>
      <Name>{memberName ?? token}</Name>
      {memberName !== undefined && token !== undefined && <span class="quiet"> ({token})</span>}
    </bdi>
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
