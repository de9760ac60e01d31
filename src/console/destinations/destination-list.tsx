import type { QueryOf } from "../../api/client.ts";
import { FilterSelect } from "../components/filter-select.tsx";
import { ItemLink } from "../components/item-link.tsx";
import { Badge, ClampedText } from "../components/layout.tsx";
import {
  halfOf,
  itemColumn,
  type ListPage,
  type ListQuery,
  ListScreen,
} from "../components/list-screen.tsx";
import { type Column, column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import type { Destination, DestinationRow } from "../data/model.ts";
import { client, missingPermission } from "../data/session.ts";
import { formatCount, formatRate } from "../format.ts";
import { hrefTo, replaceQuery } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { DestinationStateBadge, stateOptions } from "./destination-state.tsx";

const POLL_MS = 10_000;

type DestinationListQuery = QueryOf<"GET /v2/status/destinations">;
type Row = Pick<DestinationRow, "id" | "name" | "type" | "state"> & Partial<DestinationRow>;

const columns: Column<Row>[] = [
  itemColumn("destinations"),
  column.narrow(commonTexts.type, ({ type }) => <Badge flat>{type}</Badge>, "type"),
  column.narrow(destinationTexts.health, ({ state, rejecting }) => (
    <DestinationStateBadge state={state} isRejecting={rejecting === true} />
  )),
  column.number(
    destinationTexts.deliveredRate,
    ({ rates, deliveredBy }) =>
      rates && deliveredBy === "pixelmill" ? formatRate(rates.delivered) : commonTexts.noFigure,
    "delivered",
  ),
  column.number(
    commonTexts.deadLetters,
    ({ id, deliveredBy, deadLetters = 0 }) =>
      deliveredBy === "rudder-server" ? (
        commonTexts.noFigure
      ) : deadLetters === 0 ? (
        <span class="quiet">0</span>
      ) : (
        <a href={hrefTo("dead-letters", { destinationId: id })}>{formatCount(deadLetters)}</a>
      ),
    "deadLetters",
  ),
  column.plain(
    destinationTexts.lastError,
    ({ lastError, state }) =>
      lastError && (
        <>
          <ClampedText
            text={lastError.reason}
            tone={state === "down" || state === "failing" ? "bad" : "quiet"}
          />
          <p class="quiet small">
            <Time at={lastError.at} />
          </p>
        </>
      ),
  ),
  column.plain(commonTexts.transformation, ({ transformationId, transformationName }) =>
    transformationId ? (
      <ItemLink
        cut
        screen="transformations"
        id={transformationId}
        name={transformationName ?? transformationId}
      />
    ) : (
      <span class="quiet">{commonTexts.none}</span>
    ),
  ),
];

/**
 * Loads a page of destinations. If the session lacks the permission `events:read`, the rows have no
 * event counts and rates.
 */
async function loadDestinations(query: ListQuery, state: string): Promise<ListPage<Row>> {
  if (missingPermission("events:read") !== undefined) {
    return halfOf(query, async (page) => {
      const of = { query: { page, text: query.text } };
      const { destinations, paging } = await client.call("GET /v2/destinations", of);
      return { items: destinations.map(rowWithoutFigures), total: paging.total };
    });
  }
  const filter = state === "" ? {} : { state: state as DestinationRow["state"] };
  const { destinations, total } = await client.call("GET /v2/status/destinations", {
    // The server refuses an order that it does not have.
    query: { ...query, ...filter } as DestinationListQuery,
  });
  return { items: destinations, total };
}

/** Returns the row of a destination for a session without the permission `events:read`. */
function rowWithoutFigures(of: Destination): Row {
  const { id, name, type, deliveredBy, enabled, transformation } = of;
  const known = deliveredBy === "pixelmill" ? "unknown" : "external";
  return {
    id,
    name,
    type,
    deliveredBy,
    state: enabled ? known : "paused",
    ...(transformation && { transformationId: transformation.id }),
  };
}

/** Screen that lists the destinations of the workspace, the most urgent first. */
export function DestinationList({ state }: { state: string }) {
  const readsEvents = missingPermission("events:read") === undefined;
  return (
    <ListScreen
      screen="destinations"
      title={commonTexts.destinations}
      singular={destinationTexts.destinationNoun}
      icon="destination"
      createPermission="workspace:admin"
      load={(query) => loadDestinations(query, state)}
      inputs={[state]}
      pollMs={POLL_MS}
      isSortable={readsEvents}
      columns={columns}
      filters={
        readsEvents && (
          <FilterSelect
            label={destinationTexts.health}
            all={destinationTexts.anyHealth}
            value={state}
            options={stateOptions}
            onChange={(value) => replaceQuery({ state: value })}
          />
        )
      }
    >
      {destinationTexts.destinationExplained}
    </ListScreen>
  );
}
