import type { Place } from "../cluster/placement.ts";
import type { TopicLogs } from "../cluster/topic-logs.ts";
import type { Store } from "../store/store.ts";
import type { Table } from "../store/table.ts";

const PLACES = "places";
/** Key of the one row. */
export const PLACE = "place";

/** Where the partition of a ledger is, which all nodes must count alike. */
export const placesOf = (store: Store): Table<Place, string> => store.table(PLACES);

export const placeIn = (store: Store): Place | undefined => placesOf(store).get(PLACE);

/** Has a log be where its ledger says, from now on. */
export function followPlace(store: Store, logs: TopicLogs, log: string): void {
  const follow = () => {
    const place = placeIn(store);
    if (place !== undefined) logs.place(log, place);
  };
  follow();
  store.listen((tables) => {
    if (tables.has(PLACES)) follow();
  });
}
