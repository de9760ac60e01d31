import { useState } from "preact/hooks";
import { CopyableCode, Switch } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { ItemLink } from "../components/item-link.tsx";
import { FactList, Panel, Skeleton, StatList } from "../components/layout.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { ConnectionList } from "../connections/connection-list.tsx";
import type { DeadLetterGroup, Destination, DestinationRow } from "../data/model.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount, formatDuration, formatRate, pluralize } from "../format.ts";
import { MetricCharts } from "../metrics/metric-charts.tsx";
import { hrefTo } from "../router.ts";
import { RecentEvents } from "../tail/recent-events.tsx";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { filterTexts } from "../texts/event-filter.ts";
import { metricTexts } from "../texts/metrics.ts";
import { ConnectionTest } from "./connection-test.tsx";
import { LinkedTransformation } from "./linked-transformation.tsx";
import { Trouble } from "./trouble.tsx";

/** Milliseconds between two loads of the failure reasons. */
const POLL_MS = 10_000;
/** Maximum number of failure reasons that the page of a destination lists. */
const REASONS_MAX = 5;

/**
 * Loads a destination's state and its latest failed delivery. If the failed delivery cannot be
 * loaded, resolves with the state alone.
 */
export async function loadStatus(id: string) {
  const options = { params: { id } };
  const [status, latest] = await Promise.all([
    client.call("GET /v2/status/destinations/{id}", options),
    client.call("GET /v2/destinations/{id}/failure", options).catch(() => undefined),
  ]);
  return { ...status, failure: latest?.failure };
}

interface HealthProps {
  id: string;
  /**
   * The destination with its settings. Undefined until it is loaded, and if the session may not
   * read it.
   */
  destination: Destination | undefined;
  /**
   * State and latest failed delivery of the destination. Undefined until they are loaded, and if
   * the session may not read them.
   */
  status: Awaited<ReturnType<typeof loadStatus>> | undefined;
  error: unknown;
  reload: () => Promise<void>;
}

/** Shows the state of a destination: problems, figures, errors, facts and connections. */
export function HealthTab(props: HealthProps) {
  const { id, destination, status, error, reload } = props;
  const [tests, setTests] = useState(0);
  const permission = missingPermission("events:read");
  const state = status?.destination;
  const known = destination ?? state;
  const isStateAwaited = status === undefined && permission === undefined;
  // The panels are rendered together, because a panel that loads later would move the others.
  if (error === undefined && (isStateAwaited || known === undefined)) return <Skeleton />;
  if (known === undefined) return <ErrorNotice error={error} retry={reload} />;
  const { missingNodes = [] } = status ?? {};
  const isOurs = known.deliveredBy === "pixelmill";
  const sources = (
    <Panel title={commonTexts.sources} flush>
      <ConnectionList of="destination" id={id} />
    </Panel>
  );
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      {!isOurs && <p class="notice">{destinationTexts.deliveredElsewhere}</p>}
      {isOurs && state && (
        <Trouble state={state} failure={status?.failure} onTest={() => setTests(tests + 1)} />
      )}
      <div class="columns">
        <div class="stack">
          {isOurs && permission !== undefined && (
            <p class="notice">{destinationTexts.figuresRequire(permission)}</p>
          )}
          {isOurs && permission === undefined && (
            <>
              {missingNodes.length > 0 && (
                <p class="notice">{destinationTexts.figuresIncomplete(missingNodes)}</p>
              )}
              <StatList figures={figuresOf(state)} />
              <RecentEvents of={{ destinationId: id }} />
              <MetricCharts kind="destination" id={id} />
            </>
          )}
          {isOurs ? <RecentErrors destinationId={id} /> : destination && sources}
        </div>
        <div class="stack">
          <Facts {...props} known={known} />
          {destination && isOurs && <ConnectionTest destinationId={id} requested={tests} />}
          {destination && (
            <LinkedTransformation
              destination={destination}
              currentName={state?.transformationName}
              reload={reload}
            />
          )}
          {destination && isOurs && sources}
        </div>
      </div>
    </>
  );
}

function figuresOf(state: DestinationRow | undefined) {
  const rates = state?.rates;
  return [
    [metricTexts.lastMinute(commonTexts.delivered), rates && formatRate(rates.delivered)],
    [metricTexts.lastMinute(commonTexts.failed), rates && formatRate(rates.failed)],
    [metricTexts.lastMinute(commonTexts.dropped), rates && formatRate(rates.dropped)],
    [commonTexts.pending, state && formatCount(state.lagEvents)],
    [commonTexts.oldestPending, state?.lagEvents ? formatDuration(state.lagSeconds) : undefined],
    [commonTexts.deadLetters, state && formatCount(state.deadLetters)],
  ] as const;
}

/**
 * Panel with facts about a destination, such as its type. If the session may not read the settings
 * of the destination, the panel shows the transformation and the sources instead of facts from the
 * settings.
 */
function Facts(props: HealthProps & { known: Destination | DestinationRow }) {
  const { id, known, destination, status, reload } = props;
  const { transformationId, transformationName } = status?.destination ?? {};
  const sourceNames = status?.sources.map(({ name }) => name).join(", ");
  return (
    <Panel title={commonTexts.destination}>
      {destination && (
        <Switch
          on={destination.enabled}
          onChange={async (enabled) => {
            await client.call("PUT /v2/destinations/{id}", { params: { id }, body: { enabled } });
            await reload();
          }}
        >
          {destination.enabled ? commonTexts.enabled : destinationTexts.pausedEffect}
        </Switch>
      )}
      <FactList
        facts={[
          [commonTexts.type, known.type],
          destination?.endpoint && [destinationTexts.endpoint, <bdi>{destination.endpoint}</bdi>],
          [destinationTexts.deliveredBy, known.deliveredBy],
          [commonTexts.id, <CopyableCode value={id} name={commonTexts.idNoun} />],
          destination?.filter && [filterTexts.filter, filterTexts.modes[destination.filter.mode]],
          destination && [commonTexts.created, <Time at={destination.createdAt} />],
          destination && [commonTexts.updated, <Time at={destination.updatedAt} />],
          !destination && [
            commonTexts.transformation,
            transformationId ? (
              <ItemLink screen="transformations" id={transformationId} name={transformationName} />
            ) : (
              destinationTexts.passThrough
            ),
          ],
          !destination && [commonTexts.sources, sourceNames || commonTexts.none],
        ]}
      />
    </Panel>
  );
}

const errorColumns: Column<DeadLetterGroup>[] = [
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
function RecentErrors({ destinationId }: { destinationId: string }) {
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
        columns={errorColumns}
        rows={value?.slice(0, REASONS_MAX)}
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
