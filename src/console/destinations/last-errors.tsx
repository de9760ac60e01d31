import { deadLetterGroups, type Group } from "../dead-letters/groups.ts";
import { useLoaded } from "../loaded.ts";
import { Fault } from "../parts/fault.tsx";
import { Empty, Panel } from "../parts/layout.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { to } from "../router.ts";
import { lacking } from "../session.ts";
import { plural } from "../text.ts";

const ASKED_EVERY_MS = 10_000;
const SHOWN_MAX = 5;

const columns: Column<Group>[] = [
  {
    title: "Reason",
    kind: "name",
    cell: ({ id, destinationId, reason }) => (
      <a class="bad" href={to("dead-letters", { destinationId, groupId: id })}>
        {reason}
      </a>
    ),
  },
  { title: "Events", kind: "number narrow", cell: (group) => plural(group.count, "event") },
  { title: "Last", kind: "narrow", cell: ({ lastAt }) => <Time at={lastAt} /> },
];

/** Why events of a destination were given up, the most frequent reason first. */
export function LastErrors({ destinationId }: { destinationId: string }) {
  const permission = lacking("events:read");
  const { value, error, reload } = useLoaded(
    async () => (permission ? [] : await deadLetterGroups(destinationId)),
    [destinationId],
    ASKED_EVERY_MS,
  );
  return (
    <Panel
      title="Errors"
      flush
      actions={<a href={to("dead-letters", { destinationId })}>Dead letters</a>}
    >
      <Fault error={error} retry={reload} />
      <Table
        label="Errors"
        columns={columns}
        rows={value?.slice(0, SHOWN_MAX)}
        keyOf={({ id }) => id}
        empty={
          <Empty icon="check" title={permission ? "Errors are not shown" : "No event was given up"}>
            {permission
              ? `Reading dead letters takes the permission ${permission}.`
              : "What cannot be delivered, or fails in the code, waits here with its reason."}
          </Empty>
        }
      />
    </Panel>
  );
}
