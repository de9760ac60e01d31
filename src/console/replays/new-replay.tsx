import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { DateTimeField, TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Panel, ScreenHeader } from "../components/layout.tsx";
import { NameField } from "../components/name-select.tsx";
import { showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { replayTexts } from "../texts/replays.ts";

/** Texts of the form's fields. The request leaves out empty fields. */
interface ReplayForm {
  destinationId: string;
  sourceId: string;
  from: string;
  to: string;
  event: string;
  userId: string;
  property: string;
  text: string;
  rate: string;
}

/** Fields of the form that the address can fill in, such as those of a search. */
const prefilled = [
  "destinationId",
  "sourceId",
  "from",
  "to",
  "event",
  "userId",
  "property",
  "text",
] as const;

/**
 * Form that starts a replay. The replay sends the events of a time range to one destination again.
 */
export function NewReplay({ query }: { query: URLSearchParams }) {
  const [form, setForm] = useState<ReplayForm>(() => {
    const given = prefilled.map((name) => [name, query.get(name) ?? ""]);
    return { ...Object.fromEntries(given), rate: "1000" };
  });
  const onChange = (name: keyof ReplayForm) => (value: string) =>
    setForm({ ...form, [name]: value });
  const input = (name: keyof ReplayForm) => ({ value: form[name], onInput: onChange(name) });
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("POST /v2/replays", { body: bodyOf(form) });
    showToast(replayTexts.replayStarted);
    navigate(hrefTo("replays"));
  });

  return (
    <>
      <ScreenHeader
        title={commonTexts.replayEvents}
        parent={{ href: hrefTo("replays"), text: commonTexts.replays }}
      />
      <form onSubmit={submit}>
        <Panel>
          <NameField
            kind="destination"
            label={commonTexts.destination}
            none={commonTexts.selectOne}
            value={form.destinationId}
            onChange={onChange("destinationId")}
          />
          <NameField
            kind="source"
            label={commonTexts.source}
            hint={replayTexts.sourceHint}
            none={replayTexts.allConnectedSources}
            value={form.sourceId}
            onChange={onChange("sourceId")}
          />
          <DateTimeField label={commonTexts.receivedFrom} required {...input("from")} />
          <DateTimeField
            label={commonTexts.receivedBefore}
            optional
            hint={replayTexts.receivedBeforeHint}
            {...input("to")}
          />
          <TextField
            label={commonTexts.event}
            optional
            hint={replayTexts.eventHint}
            maxLength={1_024}
            {...input("event")}
          />
          <TextField label={commonTexts.userId} optional maxLength={1_024} {...input("userId")} />
          <TextField
            label={commonTexts.property}
            optional
            maxLength={1_024}
            {...input("property")}
          />
          <TextField label={commonTexts.anyText} optional maxLength={1_024} {...input("text")} />
          <TextField
            label={replayTexts.maxRate}
            type="number"
            required
            hint={replayTexts.rateHint}
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
            disabledReason={form.destinationId === "" ? replayTexts.selectDestination : undefined}
          >
            {replayTexts.startReplay}
          </Button>
        </Panel>
      </form>
    </>
  );
}

function bodyOf({ destinationId, sourceId, from, to: end, rate, ...conditions }: ReplayForm) {
  const given = Object.entries(conditions).filter(([, value]) => value !== "");
  const filter: Partial<typeof conditions> = Object.fromEntries(given);
  return {
    destinationId,
    rate: Number(rate),
    from: new Date(from).toISOString(),
    ...(sourceId !== "" && { sourceId }),
    ...(end !== "" && { to: new Date(end).toISOString() }),
    ...(Object.keys(filter).length > 0 && { filter }),
  };
}
