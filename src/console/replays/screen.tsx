import type { ScreenProps } from "../router.ts";
import { NewReplay } from "./new-replay.tsx";
import { ReplayList } from "./replay-list.tsx";

export function Screen({ subpath: [id], query }: ScreenProps) {
  if (id === "new") return <NewReplay query={query} />;
  return <ReplayList />;
}
