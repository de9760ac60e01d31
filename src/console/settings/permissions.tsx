import { Checkbox } from "../components/forms/fields.tsx";
import { Badge } from "../components/layout.tsx";
import type { Permission } from "../data/model.ts";

const meanings: Record<Permission, string> = {
  "transformations:create-delete": "create and delete transformations",
  "transformations:edit": "change and publish transformations",
  "transformations:connect": "connect transformations to destinations",
  "libraries:edit": "create, change and publish libraries",
  "destinations:connect": "connect destinations to transformations",
  "events:read": "live tail, dead letters, figures",
  "events:replay": "replay and purge dead letters",
  "workspace:admin": "sources, destinations, members, tokens, credentials",
};
export const permissions = Object.keys(meanings) as Permission[];

export function PermissionBadges(props: { of: readonly Permission[] }) {
  return (
    <span class="badges">
      {props.of.map((permission) => (
        <Badge flat key={permission}>
          {permission}
        </Badge>
      ))}
    </span>
  );
}

/** Checkboxes that select permissions. */
export function PermissionCheckboxes(props: {
  granted: readonly Permission[];
  onChange: (granted: Permission[]) => void;
}) {
  const { granted, onChange } = props;
  return (
    <fieldset class="group checkboxes">
      <legend>Permissions</legend>
      {permissions.map((permission) => (
        <Checkbox
          key={permission}
          on={granted.includes(permission)}
          onChange={(on) =>
            onChange(on ? [...granted, permission] : granted.filter((it) => it !== permission))
          }
        >
          <code>{permission}</code>
          <span class="quiet small"> {meanings[permission]}</span>
        </Checkbox>
      ))}
    </fieldset>
  );
}
