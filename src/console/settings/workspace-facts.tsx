import { CopyableCode } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { FactList, Panel, SkeletonLine } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { client, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { PermissionBadges } from "./permissions.tsx";

/** The workspace, and the session's member, token and permissions. */
export function WorkspaceFacts() {
  const { value, error, reload } = useResource(
    async () => (await client.call("GET /v2/workspace")).workspace,
    [],
  );
  const { member, token, expiresAt, permissions = [] } = session.value ?? {};
  return (
    <div class="columns even">
      <Panel title="Workspace">
        <ErrorNotice error={error} retry={reload} />
        {value ? (
          <FactList
            facts={[
              ["Name", value.name],
              ["Id", <CopyableCode value={value.id} name="id" />],
              ["Data plane URL", <CopyableCode value={value.dataPlaneURL} name="address" />],
            ]}
          />
        ) : (
          <SkeletonLine />
        )}
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
