import { Checkbox } from "../components/forms/fields.tsx";
import { Badge } from "../components/layout.tsx";
import type { Permission } from "../data/model.ts";
import { settingsTexts } from "../texts/settings.ts";

const permissions = Object.keys(settingsTexts.permissionMeanings) as Permission[];

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

/** Checkboxes by which the user selects the permissions of a member or token. */
export function PermissionCheckboxes(props: {
  legend?: string;
  granted: readonly Permission[];
  onChange: (granted: Permission[]) => void;
}) {
  const { legend = settingsTexts.permissions, granted, onChange } = props;
  return (
    <fieldset class="group">
      <legend>{legend}</legend>
      {permissions.map((permission) => (
        <Checkbox
          key={permission}
          on={granted.includes(permission)}
          onChange={(on) =>
            onChange(on ? [...granted, permission] : granted.filter((it) => it !== permission))
          }
        >
          <code>{permission}</code>
          <span class="quiet small"> {settingsTexts.permissionMeanings[permission]}</span>
        </Checkbox>
      ))}
    </fieldset>
  );
}
