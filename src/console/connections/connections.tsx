import { everyConnection, everyDestination, everySource } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Fault } from "../parts/fault.tsx";
import { Bone, Empty } from "../parts/layout.tsx";
import { to } from "../router.ts";
import { Connect } from "./connect.tsx";
import { ConnectionRow } from "./row.tsx";

/** How the connections of a source are shown, and those of a destination: by their other ends. */
const ways = {
  source: {
    others: everyDestination,
    other: "destination",
    screen: "destinations",
    nothing: "It goes nowhere yet",
    hint: "Events are kept from the moment of a connection on: connect it to a destination.",
    label: "Connect to",
  },
  destination: {
    others: everySource,
    other: "source",
    screen: "sources",
    nothing: "It takes nothing yet",
    hint: "Connect a source: its events come here from that moment on.",
    label: "Connect a source",
  },
} as const;

interface Ends {
  sourceId: string;
  destinationId: string;
}

/** What a source or a destination is connected to, and what it could be connected to. */
export function Connections({ of, id }: { of: keyof typeof ways; id: string }) {
  const { others, other, screen, nothing, hint, label } = ways[of];
  const { value, error, reload } = useLoaded(
    async () => ({ connections: await everyConnection(), others: await others() }),
    [of, id],
  );
  if (error !== undefined) return <Fault error={error} retry={reload} />;
  if (value === undefined) {
    return (
      <div class="inside">
        <Bone />
      </div>
    );
  }
  const ownEnd = ({ sourceId, destinationId }: Ends) =>
    of === "source" ? sourceId : destinationId;
  const otherEnd = ({ sourceId, destinationId }: Ends) =>
    of === "source" ? destinationId : sourceId;
  const connections = value.connections.filter((it) => ownEnd(it) === id);
  const taken = new Set(connections.map(otherEnd));
  const nameOf = (otherId: string) => value.others.find((it) => it.id === otherId)?.name ?? otherId;
  return (
    <>
      {connections.length === 0 && (
        <Empty
          icon={other}
          title={nothing}
          action={
            value.others.length === 0 && (
              <a class="button" href={to(screen, "new")}>
                New {other}
              </a>
            )
          }
        >
          {hint}
        </Empty>
      )}
      <ul>
        {connections.map((connection) => (
          <ConnectionRow
            key={connection.id}
            connection={connection}
            href={to(screen, otherEnd(connection))}
            name={nameOf(otherEnd(connection))}
            changed={reload}
          />
        ))}
      </ul>
      <Connect
        label={label}
        free={value.others.filter((it) => !taken.has(it.id))}
        ends={(otherId) =>
          of === "source"
            ? { sourceId: id, destinationId: otherId }
            : { sourceId: otherId, destinationId: id }
        }
        changed={reload}
      />
    </>
  );
}
