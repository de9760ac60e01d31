import type { ScreenProps } from "../router.ts";
import { DestinationList } from "./list.tsx";
import { NewDestination } from "./new.tsx";
import { DestinationPage } from "./page.tsx";

export function Screen({ rest: [id], query }: ScreenProps) {
  if (id === undefined) return <DestinationList />;
  if (id === "new") return <NewDestination />;
  return <DestinationPage key={id} id={id} tab={query.get("tab") ?? ""} />;
}
