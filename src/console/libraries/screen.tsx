import { libraries } from "../code/kinds.ts";
import { CodeList } from "../code/list.tsx";
import { CodePage } from "../code/page.tsx";
import type { ScreenProps } from "../router.ts";

export function Screen({ rest: [id], query }: ScreenProps) {
  if (id === undefined || id === "new") {
    return <CodeList kind={libraries} isNew={id === "new"} />;
  }
  return <CodePage key={id} kind={libraries} id={id} query={query} />;
}
