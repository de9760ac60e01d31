import type { ScreenProps } from "../router.ts";
import { DestinationList } from "./destination-list.tsx";
import { DestinationPage } from "./destination-page.tsx";
import { NewDestination } from "./new-destination.tsx";

export function Screen({ subpath: [id], query }: ScreenProps) {
  if (id === undefined) return <DestinationList state={query.get("state") ?? ""} />;
  if (id === "new") return <NewDestination copyOf={query.get("copyOf") ?? undefined} />;
  return <DestinationPage key={id} id={id} tab={query.get("tab") ?? ""} />;
}
