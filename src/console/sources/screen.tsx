import { ScreenHeader } from "../components/layout.tsx";
import { PermissionRequired } from "../components/permission-required.tsx";
import { missingPermission } from "../data/session.ts";
import type { ScreenProps } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { SourceList } from "./source-list.tsx";
import { SourcePage } from "./source-page.tsx";

export function Screen({ subpath: [id] }: ScreenProps) {
  if (id === undefined || id === "new") return <SourceList isNew={id === "new"} />;
  const permission = missingPermission("workspace:admin");
  if (permission !== undefined) {
    return (
      <>
        <ScreenHeader title={commonTexts.source} />
        <PermissionRequired permission={permission} />
      </>
    );
  }
  return <SourcePage key={id} id={id} />;
}
