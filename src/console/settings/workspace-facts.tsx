import { CopyableCode } from "../components/button.tsx";
import { FactList, Panel, SkeletonLine } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { Time } from "../components/time.tsx";
import { client, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { PermissionBadges } from "./permissions.tsx";

/** Shows the workspace and the current session with its member, token and permissions. */
export function WorkspaceFacts() {
  const resource = useResource(async () => (await client.call("GET /v2/workspace")).workspace, []);
  const { member, token, expiresAt, permissions = [] } = session.value ?? {};
  return (
    <div class="columns even">
      <Panel title="Workspace">
        <Loaded resource={resource} placeholder={<SkeletonLine />}>
          {(workspace) => (
            <FactList
              facts={[
                ["Name", workspace.name],
                ["Id", <CopyableCode value={workspace.id} name="id" />],
                ["Data plane URL", <CopyableCode value={workspace.dataPlaneURL} name="address" />],
              ]}
            />
          )}
        </Loaded>
      </Panel>
      <Panel title="You">
        <FactList
          facts={[
            ["Member", member ? `${member.name} (${member.email})` : "A service token"],
            ["Token", token?.name],
            ...(expiresAt ? [["Signed in until", <Time at={expiresAt} />] as const] : []),
            ["Permissions", <PermissionBadges of={permissions} />],
          ]}
        />
      </Panel>
    </div>
  );
}
