import { useState } from "preact/hooks";
import { useNames } from "../every.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { useSubmit } from "../parts/form.ts";
import { Head, Panel } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { go, to } from "../router.ts";
import { client } from "../session.ts";

/** What the form has; empty texts are left out of the request. */
interface Asked {
  destinationId: string;
  sourceId: string;
  from: string;
  to: string;
  event: string;
  userId: string;
  rate: string;
}

/** Asks for events of a time to be sent to a destination again. */
export function NewReplay({ destinationId }: { destinationId: string }) {
  const names = useNames();
  const empty = { sourceId: "", from: "", to: "", event: "", userId: "", rate: "1000" };
  const [asked, setAsked] = useState<Asked>({ destinationId, ...empty });
  const set = (change: Partial<Asked>) => setAsked({ ...asked, ...change });
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("POST /v2/replays", { body: bodyOf(asked) });
    tell("The replay runs");
    go(to("replays"));
  });

  return (
    <>
      <Head title="Replay events" way={{ href: to("replays"), text: "Replays" }} />
      <form onSubmit={submit}>
        <Panel>
          <SelectField
            label="Destination"
            value={asked.destinationId}
            options={[
              { value: "", text: "Choose one" },
              ...names.destinations.map(({ id, name }) => ({ value: id, text: name })),
            ]}
            onChange={(id) => set({ destinationId: id })}
          />
          <SelectField
            label="Source"
            hint="A source that is chosen needs no connection to the destination"
            value={asked.sourceId}
            options={[
              { value: "", text: "All that are connected to the destination" },
              ...names.sources.map(({ id, name }) => ({ value: id, text: name })),
            ]}
            onChange={(id) => set({ sourceId: id })}
          />
          <TextField
            label="Received from"
            type="datetime-local"
            required
            value={asked.from}
            onInput={(from) => set({ from })}
          />
          <TextField
            label="Received before"
            type="datetime-local"
            optional
            hint="Until now when it is empty"
            value={asked.to}
            onInput={(end) => set({ to: end })}
          />
          <TextField
            label="Event"
            optional
            hint="Of a track event, or the name of a page"
            maxLength={1_024}
            value={asked.event}
            onInput={(event) => set({ event })}
          />
          <TextField
            label="User id"
            optional
            maxLength={1_024}
            value={asked.userId}
            onInput={(userId) => set({ userId })}
          />
          <TextField
            label="Events a second"
            type="number"
            required
            hint="At most; live events go first"
            min={1}
            max={100_000}
            value={asked.rate}
            onInput={(rate) => set({ rate })}
          />
          <Fault error={error} />
          <Button
            kind="main"
            type="submit"
            needs="events:replay"
            busy={busy}
            unless={asked.destinationId === "" ? "Choose a destination" : undefined}
          >
            Start the replay
          </Button>
        </Panel>
      </form>
    </>
  );
}

function bodyOf({ destinationId, sourceId, from, to: end, event, userId, rate }: Asked) {
  const filter = { ...(event !== "" && { event }), ...(userId !== "" && { userId }) };
  return {
    ...{ destinationId, rate: Number(rate), from: new Date(from).toISOString() },
    ...(sourceId !== "" && { sourceId }),
    ...(end !== "" && { to: new Date(end).toISOString() }),
    ...(Object.keys(filter).length > 0 && { filter }),
  };
}
