import { type CodeKindInfo, libraries, transformations } from "../code-kinds/code-kind.ts";
import type { ScreenProps } from "../router.ts";
import { CodeList } from "./code-list.tsx";
import { CodePage } from "./code-page.tsx";

export const TransformationScreen = screenOf(transformations);
export const LibraryScreen = screenOf(libraries);

function screenOf(kind: CodeKindInfo) {
  return ({ subpath: [id], query }: ScreenProps) => {
    if (id === undefined || id === "new") return <CodeList kind={kind} isNew={id === "new"} />;
    return <CodePage key={id} kind={kind} id={id} query={query} />;
  };
}
