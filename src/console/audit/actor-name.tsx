import { Name } from "../components/name.tsx";
import { auditTexts } from "../texts/audit.ts";
import type { AuditEntry } from "./audit-form.ts";

/**
 * Shows who caused an audit entry: a member or API token, by its name at that time. If neither
 * caused the entry, shows that the server or an unknown caller did.
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
