import type { ScreenProps } from "../router.ts";
import { SourceList } from "./source-list.tsx";
import { SourcePage } from "./source-page.tsx";

export function Screen({ subpath: [id] }: ScreenProps) {
  if (id === undefined || id === "new") return <SourceList isNew={id === "new"} />;
  return <SourcePage key={id} id={id} />;
}
