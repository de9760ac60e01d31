import { Connect } from "../connections/connect.tsx";
import { ConnectionRow } from "../connections/row.tsx";
import { everyConnection, everyDestination } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Fault } from "../parts/fault.tsx";
import { Bone, Empty } from "../parts/layout.tsx";
import { to } from "../router.ts";

/** Where the events of a source go. */
export function SourceConnections({ sourceId }: { sourceId: string }) {
  const { value, error, reload } = useLoaded(
    async () => ({ connections: await everyConnection(), destinations: await everyDestination() }),
    [sourceId],
  );
  if (error !== undefined) return <Fault error={error} retry={reload} />;
  if (value === undefined) {
    return (
      <div class="inside">
        <Bone />
      </div>
    );
  }
  const connections = value.connections.filter((it) => it.sourceId === sourceId);
  const taken = new Set(connections.map((it) => it.destinationId));
  const nameOf = (id: string) => value.destinations.find((it) => it.id === id)?.name ?? id;
  return (
    <>
      {connections.length === 0 && (
        <Empty
          icon="destination"
          title="It goes nowhere yet"
          action={
            value.destinations.length === 0 && (
              <a class="button" href={to("destinations", "new")}>
                New destination
              </a>
            )
          }
        >
          Events are kept from the moment of a connection on: connect it to a destination.
        </Empty>
      )}
      <ul>
        {connections.map((connection) => (
          <ConnectionRow
            key={connection.id}
            connection={connection}
            href={to("destinations", connection.destinationId)}
            name={nameOf(connection.destinationId)}
            changed={reload}
          />
        ))}
      </ul>
      <Connect
        label="Connect to"
        free={value.destinations.filter(({ id }) => !taken.has(id))}
        ends={(destinationId) => ({ sourceId, destinationId })}
        changed={reload}
      />
    </>
  );
}
