import { Connect } from "../connections/connect.tsx";
import { ConnectionRow } from "../connections/row.tsx";
import { everyConnection, everySource } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Fault } from "../parts/fault.tsx";
import { Bone, Empty } from "../parts/layout.tsx";
import { to } from "../router.ts";

/** Whose events a destination takes. */
export function DestinationSources({ destinationId }: { destinationId: string }) {
  const { value, error, reload } = useLoaded(
    async () => ({ connections: await everyConnection(), sources: await everySource() }),
    [destinationId],
  );
  if (error !== undefined) return <Fault error={error} retry={reload} />;
  if (value === undefined) {
    return (
      <div class="inside">
        <Bone />
      </div>
    );
  }
  const connections = value.connections.filter((it) => it.destinationId === destinationId);
  const taken = new Set(connections.map((it) => it.sourceId));
  const nameOf = (id: string) => value.sources.find((it) => it.id === id)?.name ?? id;
  return (
    <>
      {connections.length === 0 && (
        <Empty
          icon="source"
          title="It takes nothing yet"
          action={
            value.sources.length === 0 && (
              <a class="button" href={to("sources", "new")}>
                New source
              </a>
            )
          }
        >
          Connect a source: its events come here from that moment on.
        </Empty>
      )}
      <ul>
        {connections.map((connection) => (
          <ConnectionRow
            key={connection.id}
            connection={connection}
            href={to("sources", connection.sourceId)}
            name={nameOf(connection.sourceId)}
            changed={reload}
          />
        ))}
      </ul>
      <Connect
        label="Connect a source"
        free={value.sources.filter(({ id }) => !taken.has(id))}
        ends={(sourceId) => ({ sourceId, destinationId })}
        changed={reload}
      />
    </>
  );
}
