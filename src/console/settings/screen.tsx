import { CopyableCode } from "../components/button.tsx";
import {
  FactList,
  Loaded,
  Panel,
  PermissionRequired,
  ScreenHeader,
  SkeletonLine,
  Tabs,
} from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { Time } from "../components/time.tsx";
import { client, missingPermission, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { hrefTo, type ScreenProps } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { settingsTexts } from "../texts/settings.ts";
import { CredentialList } from "./credential-list.tsx";
import { MemberList } from "./member-list.tsx";
import { PermissionBadges } from "./permissions.tsx";
import { TokenList } from "./token-list.tsx";

const tabs = [
  { name: "", text: settingsTexts.workspace },
  { name: "members", text: settingsTexts.members, needs: "workspace:admin" },
  { name: "tokens", text: settingsTexts.tokens, needs: "workspace:admin" },
  { name: "credentials", text: settingsTexts.credentials, needs: "workspace:admin" },
] as const;

/** Settings screen, with tabs for the workspace, its members, tokens and credentials. */
export function Screen({ subpath: [tab = ""] }: ScreenProps) {
  const permission = missingPermission("workspace:admin");
  return (
    <>
      <ScreenHeader title={commonTexts.settings} />
      <Tabs
        tabs={tabs}
        current={tab}
        hrefOf={(name) => (name === "" ? hrefTo("settings") : hrefTo("settings", name))}
      />
      {tab === "" && <WorkspaceFacts />}
      {tab !== "" && permission !== undefined && <PermissionRequired permission={permission} />}
      {permission === undefined && tab === "members" && <MemberList />}
      {permission === undefined && tab === "tokens" && <TokenList />}
      {permission === undefined && tab === "credentials" && <CredentialList />}
    </>
  );
}

/** Shows the workspace, and the current session with its member, API token and permissions. */
function WorkspaceFacts() {
  const resource = useResource(async () => (await client.call("GET /v2/workspace")).workspace, []);
  const { member, token, expiresAt, permissions = [] } = session.value ?? {};
  return (
    <div class="columns even">
      <Panel title={settingsTexts.workspace}>
        <Loaded resource={resource} placeholder={<SkeletonLine />}>
          {(workspace) => (
            <FactList
              facts={[
                [commonTexts.name, <Name>{workspace.name}</Name>],
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
            member && [
              settingsTexts.workspaceRole,
              member.workspaceRole
                ? settingsTexts.roles[member.workspaceRole]
                : settingsTexts.noRole,
            ],
            [commonTexts.token, token?.name],
            expiresAt && [settingsTexts.signedInUntil, <Time at={expiresAt} />],
            [settingsTexts.permissions, <PermissionBadges of={permissions} />],
          ]}
        />
      </Panel>
    </div>
  );
}
