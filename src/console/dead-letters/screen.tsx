import type { ScreenProps } from "../router.ts";
import { GroupList } from "./group-list.tsx";
import { DeadLetterList } from "./letter-list.tsx";
import { DeadLetterPage } from "./letter-page.tsx";

export function Screen({ subpath: [id], query }: ScreenProps) {
  const groupId = query.get("groupId") ?? undefined;
  const destinationId = query.get("destinationId") ?? undefined;
  const all = query.get("all") ?? undefined;
  if (id !== undefined) {
    return <DeadLetterPage key={id} id={id} list={{ groupId, destinationId, all }} />;
  }
  if (groupId === undefined && all === undefined) {
    return <GroupList destinationId={destinationId} />;
  }
  const filter = {
    ...(groupId !== undefined && { groupId }),
    ...(destinationId !== undefined && { destinationId }),
  };
  return <DeadLetterList key={JSON.stringify(filter)} filter={filter} />;
}
