import type { ScreenProps } from "../router.ts";
import { GroupList } from "./group-list.tsx";
import { LetterList } from "./letter-list.tsx";
import { LetterPage } from "./page.tsx";

export function Screen({ rest: [id], query }: ScreenProps) {
  const groupId = query.get("groupId") ?? undefined;
  const destinationId = query.get("destinationId") ?? undefined;
  if (id !== undefined) return <LetterPage key={id} id={id} />;
  if (groupId === undefined && !query.has("all")) {
    return <GroupList destinationId={destinationId} />;
  }
  const filter = {
    ...(groupId !== undefined && { groupId }),
    ...(destinationId !== undefined && { destinationId }),
  };
  return <LetterList key={JSON.stringify(filter)} filter={filter} />;
}
