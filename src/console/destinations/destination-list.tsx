import type { QueryOf } from "../../api/client.ts";
import { FilterSelect } from "../components/filter-select.tsx";
import { ItemLink } from "../components/item-link.tsx";
import { Badge, ClampedText } from "../components/layout.tsx";
import { itemColumn, ListScreen, permittedLoad } from "../components/list-screen.tsx";
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
 * Returns a table row for a destination. It has no figures, because the session lacks the
 * permission `events:read`.
 */
function rowWithoutFigures(of: Destination): Row {
  const { deliveredBy, enabled, transformation } = of;
  const known = deliveredBy === "pixelmill" ? "unknown" : "external";
  return {
    ...of,
    state: enabled ? known : "paused",
    ...(transformation && { transformationId: transformation.id }),
  };
}

/**
 * Screen that lists the destinations of the workspace. With the permission `events:read`, the most
 * urgent ones come first by default.
 */
export function DestinationList({ state }: { state: string }) {
  return (
    <ListScreen
      screen="destinations"
      title={commonTexts.destinations}
      singular={destinationTexts.destinationNoun}
      icon="destination"
      createPermission="workspace:admin"
      {...permittedLoad<Row>(
        async (query) => {
          const { destinations, total } = await client.call("GET /v2/status/destinations", {
            // The order comes from the page's address. The server refuses an unknown one.
            query: { ...query, ...(state !== "" && { state }) } as DestinationListQuery,
          });
          return { items: destinations, total };
        },
        async (query) => {
          const { destinations, paging } = await client.call("GET /v2/destinations", { query });
          return { items: destinations.map(rowWithoutFigures), total: paging.total };
        },
      )}
      inputs={[state]}
      pollMs={POLL_MS}
      columns={columns}
      filters={
        missingPermission("events:read") === undefined && (
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
