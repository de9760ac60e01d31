import { transformations } from "../code/kinds.ts";
import { CodeList } from "../code/list.tsx";
import { CodePage } from "../code/page.tsx";
import type { ScreenProps } from "../router.ts";

export function Screen({ rest: [id], query }: ScreenProps) {
  if (id === undefined || id === "new") {
    return <CodeList kind={transformations} isNew={id === "new"} />;
  }
  return <CodePage key={id} kind={transformations} id={id} query={query} />;
}
