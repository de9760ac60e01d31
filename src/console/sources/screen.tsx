import type { ScreenProps } from "../router.ts";
import { SourceList } from "./list.tsx";
import { SourcePage } from "./page.tsx";

export function Screen({ rest: [id] }: ScreenProps) {
  if (id === undefined || id === "new") return <SourceList isNew={id === "new"} />;
  return <SourcePage key={id} id={id} />;
}
