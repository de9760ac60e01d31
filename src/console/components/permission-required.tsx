import type { Permission } from "../data/model.ts";
import { EmptyState } from "./layout.tsx";

/** Text in place of a screen that the session lacks the permission to read. */
export function PermissionRequired({ permission }: { permission: Permission }) {
  return (
    <EmptyState icon="info" title={`Requires ${permission}`}>
      Your token does not have this permission. A member with workspace:admin can create one that
      has it.
    </EmptyState>
  );
}
