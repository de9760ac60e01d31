import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Panel, ScreenHeader } from "../components/layout.tsx";
import { showToast } from "../components/toasts.ts";
import { useNames } from "../data/list-all.ts";
import { client } from "../data/session.ts";
import { hrefTo, navigate } from "../router.ts";

/** What the form has; empty texts are left out of the request. */
interface ReplayForm {
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
  const [asked, setAsked] = useState<ReplayForm>({ destinationId, ...empty });
  const set = (change: Partial<ReplayForm>) => setAsked({ ...asked, ...change });
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("POST /v2/replays", { body: bodyOf(asked) });
    showToast("The replay runs");
    navigate(hrefTo("replays"));
  });

  return (
    <>
      <ScreenHeader title="Replay events" way={{ href: hrefTo("replays"), text: "Replays" }} />
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
          <ErrorNotice error={error} />
          <Button
            kind="main"
            type="submit"
            needs="events:replay"
            busy={busy}
            disabledReason={asked.destinationId === "" ? "Choose a destination" : undefined}
          >
            Start the replay
          </Button>
        </Panel>
      </form>
    </>
  );
}

function bodyOf({ destinationId, sourceId, from, to: end, event, userId, rate }: ReplayForm) {
  const filter = { ...(event !== "" && { event }), ...(userId !== "" && { userId }) };
  return {
    ...{ destinationId, rate: Number(rate), from: new Date(from).toISOString() },
    ...(sourceId !== "" && { sourceId }),
    ...(end !== "" && { to: new Date(end).toISOString() }),
    ...(Object.keys(filter).length > 0 && { filter }),
  };
}
