import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { optionsOf, SelectField, TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Panel, ScreenHeader } from "../components/layout.tsx";
import { showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { useNames } from "../data/use-names.ts";
import { hrefTo, navigate } from "../router.ts";

/** Texts of the form's fields. The request leaves out empty fields. */
interface ReplayForm {
  destinationId: string;
  sourceId: string;
  from: string;
  to: string;
  event: string;
  userId: string;
  rate: string;
}

/**
 * Form that starts a replay. The replay sends the events of a time range to one destination again.
 */
export function NewReplay({ destinationId }: { destinationId: string }) {
  const names = useNames();
  const empty = { sourceId: "", from: "", to: "", event: "", userId: "", rate: "1000" };
  const [form, setForm] = useState<ReplayForm>({ destinationId, ...empty });
  const onChange = (name: keyof ReplayForm) => (value: string) =>
    setForm({ ...form, [name]: value });
  const input = (name: keyof ReplayForm) => ({ value: form[name], onInput: onChange(name) });
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("POST /v2/replays", { body: bodyOf(form) });
    showToast("Replay started");
    navigate(hrefTo("replays"));
  });

  return (
    <>
      <ScreenHeader title="Replay events" parent={{ href: hrefTo("replays"), text: "Replays" }} />
      <form onSubmit={submit}>
        <Panel>
          <SelectField
            label="Destination"
            value={form.destinationId}
            options={[{ value: "", text: "Select one" }, ...optionsOf(names.destinations)]}
            onChange={onChange("destinationId")}
          />
          <SelectField
            label="Source"
            hint="A selected source need not be connected to the destination"
            value={form.sourceId}
            options={[
              { value: "", text: "All connected to the destination" },
              ...optionsOf(names.sources),
            ]}
            onChange={onChange("sourceId")}
          />
          <TextField label="Received from" type="datetime-local" required {...input("from")} />
          <TextField
            label="Received before"
            type="datetime-local"
            optional
            hint="Leave blank for now"
            {...input("to")}
          />
          <TextField
            label="Event"
            optional
            hint="Name of a track event, or of a page"
            maxLength={1_024}
            {...input("event")}
          />
          <TextField label="User id" optional maxLength={1_024} {...input("userId")} />
          <TextField
            label="Max events/s"
            type="number"
            required
            hint="Live events go first"
            min={1}
            max={100_000}
            {...input("rate")}
          />
          <ErrorNotice error={error} />
          <Button
            kind="main"
            type="submit"
            needs="events:replay"
            busy={busy}
            disabledReason={form.destinationId === "" ? "Select a destination" : undefined}
          >
            Start replay
          </Button>
        </Panel>
      </form>
    </>
  );
}

function bodyOf({ destinationId, sourceId, from, to: end, event, userId, rate }: ReplayForm) {
  const filter = { ...(event !== "" && { event }), ...(userId !== "" && { userId }) };
  return {
    destinationId,
    rate: Number(rate),
    from: new Date(from).toISOString(),
    ...(sourceId !== "" && { sourceId }),
    ...(end !== "" && { to: new Date(end).toISOString() }),
    ...(Object.keys(filter).length > 0 && { filter }),
  };
}
