import { CopyableCode } from "../components/button.tsx";
import { FactList, Panel, SkeletonLine } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { Time } from "../components/time.tsx";
import { client, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { settingsTexts } from "../texts/settings.ts";
import { PermissionBadges } from "./permissions.tsx";

/** Shows the workspace and the current session with its member, token and permissions. */
export function WorkspaceFacts() {
  const resource = useResource(async () => (await client.call("GET /v2/workspace")).workspace, []);
  const { member, token, expiresAt, permissions = [] } = session.value ?? {};
  return (
    <div class="columns even">
      <Panel title={settingsTexts.workspace}>
        <Loaded resource={resource} placeholder={<SkeletonLine />}>
          {(workspace) => (
            <FactList
              facts={[
                [commonTexts.name, workspace.name],
                [commonTexts.id, <CopyableCode value={workspace.id} name={commonTexts.idNoun} />],
                [
                  settingsTexts.dataPlaneUrl,
                  <CopyableCode value={workspace.dataPlaneURL} name={settingsTexts.addressNoun} />,
                ],
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <Panel title={settingsTexts.you}>
        <FactList
          facts={[
            [
              commonTexts.member,
              member ? `${isolated(member.name)} (${member.email})` : settingsTexts.serviceToken,
            ],
            [commonTexts.token, token?.name],
            ...(expiresAt ? [[settingsTexts.signedInUntil, <Time at={expiresAt} />] as const] : []),
            [settingsTexts.permissions, <PermissionBadges of={permissions} />],
          ]}
        />
      </Panel>
    </div>
  );
}
