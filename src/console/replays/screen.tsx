import type { ScreenProps } from "../router.ts";
import { ReplayList } from "./list.tsx";
import { NewReplay } from "./new.tsx";

export function Screen({ rest: [id], query }: ScreenProps) {
  if (id === "new") return <NewReplay destinationId={query.get("destinationId") ?? ""} />;
  return <ReplayList />;
}
