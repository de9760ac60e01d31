import { transformations } from "../code/code-kind.ts";
import { CodeList } from "../code/code-list.tsx";
import { CodePage } from "../code/code-page.tsx";
import type { ScreenProps } from "../router.ts";

export function Screen({ subpath: [id], query }: ScreenProps) {
  if (id === undefined || id === "new") {
    return <CodeList kind={transformations} isNew={id === "new"} />;
  }
  return <CodePage key={id} kind={transformations} id={id} query={query} />;
}
