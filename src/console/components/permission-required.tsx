import type { Permission } from "../data/model.ts";
import { commonTexts } from "../texts/common.ts";
import { EmptyState } from "./layout.tsx";

/** Text in place of a screen that the session lacks the permission to read. */
export function PermissionRequired({ permission }: { permission: Permission }) {
  return (
    <EmptyState
      icon="info"
      title={commonTexts.requires(permission)}
      text={commonTexts.permissionHint}
    />
  );
}
