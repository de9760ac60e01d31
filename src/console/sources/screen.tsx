import { missingPermission } from "../data/session.ts";
import type { ScreenProps } from "../router.ts";
import { SourceFigures } from "./source-figures.tsx";
import { SourceList } from "./source-list.tsx";
import { SourcePage } from "./source-page.tsx";

export function Screen({ subpath: [id] }: ScreenProps) {
  if (id === undefined || id === "new") return <SourceList isNew={id === "new"} />;
  const permission = missingPermission("workspace:admin");
  if (permission !== undefined) return <SourceFigures key={id} id={id} permission={permission} />;
  return <SourcePage key={id} id={id} />;
}
