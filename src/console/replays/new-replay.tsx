import { DateTimeField, Form, TextField } from "../components/forms/fields.tsx";
import { useFields } from "../components/forms/use-fields.ts";
import { Panel, ScreenHeader } from "../components/layout.tsx";
import { NameField } from "../components/name-select.tsx";
import { showToast } from "../components/toasts.ts";
import { readValues } from "../data/address-form.ts";
import { client } from "../data/session.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { replayTexts } from "../texts/replays.ts";

/**
 * Form fields for the conditions that events must meet to be replayed. `name` is the condition's
 * name in the API request.
 */
const conditionFields = [
  { name: "event", label: commonTexts.event, hint: replayTexts.eventHint },
  { name: "userId", label: commonTexts.userId },
  { name: "property", label: commonTexts.property },
  { name: "text", label: commonTexts.anyText },
] as const;

/**
 * Names of the form fields that take their initial values from query parameters of the same names
 * in the page's address. Links from the event search and from a destination's page have such
 * parameters.
 */
const prefilled = [
  ...(["destinationId", "sourceId", "from", "to"] as const),
  ...conditionFields.map(({ name }) => name),
];

/**
 * Form that starts a replay. The replay sends the events of a time range to one destination again.
 */
export function NewReplay({ query }: { query: URLSearchParams }) {
  const { values, input, select } = useFields({ ...readValues(query, prefilled), rate: "1000" });
  return (
    <>
      <ScreenHeader
        title={commonTexts.replayEvents}
        parent={{ href: hrefTo("replays"), text: commonTexts.replays }}
      />
      <Panel>
        <Form
          action={replayTexts.startReplay}
          needs="events:replay"
          disabledReason={values.destinationId === "" ? replayTexts.selectDestination : undefined}
          onSubmit={async () => {
            await client.call("POST /v2/replays", { body: bodyOf(values) });
            showToast(replayTexts.replayStarted);
            navigate(hrefTo("replays"));
          }}
        >
          <NameField
            kind="destination"
            label={commonTexts.destination}
            none={commonTexts.selectOne}
            {...select("destinationId")}
          />
          <NameField
            kind="source"
            label={commonTexts.source}
            hint={replayTexts.sourceHint}
            none={replayTexts.allConnectedSources}
            {...select("sourceId")}
          />
          <DateTimeField label={commonTexts.receivedFrom} required {...input("from")} />
          <DateTimeField
            label={commonTexts.receivedBefore}
            optional
            hint={replayTexts.receivedBeforeHint}
            {...input("to")}
          />
          {conditionFields.map(({ name, ...field }) => (
            <TextField
              key={name}
              {...field}
              optional
              maxLength={1_024}
              {...input(name, `/filter/${name}`)}
            />
          ))}
          <TextField
            label={replayTexts.maxRate}
            type="number"
            required
            hint={replayTexts.rateHint}
            min={1}
            max={100_000}
            {...input("rate")}
          />
        </Form>
      </Panel>
    </>
  );
}

/** Converts the form's values to the body of the API request. Leaves out empty values. */
function bodyOf(values: Record<(typeof prefilled)[number] | "rate", string>) {
  const { destinationId, sourceId, from, to: end, rate, ...conditions } = values;
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
