import { useState } from "preact/hooks";
import { ConnectionRow } from "../connections/row.tsx";
import { everyConnection, everyDestination } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { SelectField } from "../parts/field.tsx";
import { Bone, Empty } from "../parts/layout.tsx";
import { to } from "../router.ts";
import { client } from "../session.ts";

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
  const free = value.destinations.filter(({ id }) => !taken.has(id));
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
      {free.length > 0 && <Connect free={free} sourceId={sourceId} changed={reload} />}
    </>
  );
}

function Connect(props: {
  free: readonly { id: string; name: string }[];
  sourceId: string;
  changed: () => Promise<void>;
}) {
  const { free, sourceId, changed } = props;
  const [chosen, setChosen] = useState("");
  const destinationId = free.some(({ id }) => id === chosen) ? chosen : (free[0]?.id ?? "");
  return (
    <div class="connect">
      <SelectField
        label="Connect to"
        value={destinationId}
        options={free.map(({ id, name }) => ({ value: id, text: name }))}
        onChange={setChosen}
      />
      <Button
        icon="link"
        needs="workspace:admin"
        onClick={async () => {
          await client.call("POST /v2/connections", { body: { sourceId, destinationId } });
          await changed();
        }}
      >
        Connect
      </Button>
    </div>
  );
}
