import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel } from "../components/layout.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import type { DeadLetterGroup } from "../data/model.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { pluralize } from "../format.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";

const POLL_MS = 10_000;
const SHOWN_MAX = 5;

const columns: Column<DeadLetterGroup>[] = [
  column.name(commonTexts.reason, ({ id, destinationId, reason }) => (
    <a class="bad clamp" href={hrefTo("dead-letters", { destinationId, groupId: id })}>
      {reason}
    </a>
  )),
  column.number(commonTexts.events, ({ count }) => pluralize(count, "event")),
  column.narrow(destinationTexts.last, ({ lastAt }) => <Time at={lastAt} />),
];

/**
 * Lists the failure reasons of a destination's dead letters (events that were given up), most
 * frequent first.
 */
export function RecentErrors({ destinationId }: { destinationId: string }) {
  const permission = missingPermission("events:read");
  const { value, error, reload } = useResource(
    async () => {
      if (permission !== undefined) return [];
      const query = { destinationId };
      return (await client.call("GET /v2/dead-letter-groups", { query })).deadLetterGroups;
    },
    [destinationId],
    POLL_MS,
  );
  return (
    <Panel
      title={destinationTexts.errors}
      flush
      actions={<a href={hrefTo("dead-letters", { destinationId })}>{commonTexts.deadLetters}</a>}
    >
      <ErrorNotice error={error} retry={reload} />
      <Table
        label={destinationTexts.errors}
        columns={columns}
        rows={value?.slice(0, SHOWN_MAX)}
        keyOf={({ id }) => id}
        empty={{
          icon: "check",
          ...(permission
            ? destinationTexts.errorsHidden(permission)
            : destinationTexts.noFailedEvents),
        }}
      />
    </Panel>
  );
}
