import { ErrorNotice } from "../components/error-notice.tsx";
import { EmptyState, Panel } from "../components/layout.tsx";
import { Table, type TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { type DeadLetterGroup, listDeadLetterGroups } from "../dead-letters/letter-groups.ts";
import { pluralize } from "../format.ts";
import { hrefTo } from "../router.ts";

const ASKED_EVERY_MS = 10_000;
const SHOWN_MAX = 5;

const columns: TableColumn<DeadLetterGroup>[] = [
  {
    title: "Reason",
    kind: "name",
    cell: ({ id, destinationId, reason }) => (
      <a class="bad" href={hrefTo("dead-letters", { destinationId, groupId: id })}>
        {reason}
      </a>
    ),
  },
  { title: "Events", kind: "number narrow", cell: (group) => pluralize(group.count, "event") },
  { title: "Last", kind: "narrow", cell: ({ lastAt }) => <Time at={lastAt} /> },
];

/** Why events of a destination were given up, the most frequent reason first. */
export function RecentErrors({ destinationId }: { destinationId: string }) {
  const permission = missingPermission("events:read");
  const { value, error, reload } = useResource(
    async () => (permission ? [] : await listDeadLetterGroups(destinationId)),
    [destinationId],
    ASKED_EVERY_MS,
  );
  return (
    <Panel
      title="Errors"
      flush
      actions={<a href={hrefTo("dead-letters", { destinationId })}>Dead letters</a>}
    >
      <ErrorNotice error={error} retry={reload} />
      <Table
        label="Errors"
        columns={columns}
        rows={value?.slice(0, SHOWN_MAX)}
        keyOf={({ id }) => id}
        empty={
          <EmptyState
            icon="check"
            title={permission ? "Errors are not shown" : "No event was given up"}
          >
            {permission
              ? `Reading dead letters takes the permission ${permission}.`
              : "What cannot be delivered, or fails in the code, waits here with its reason."}
          </EmptyState>
        }
      />
    </Panel>
  );
}
