import { CopyableCode } from "../components/button.tsx";
import { FactList, Loaded, Panel, SkeletonLine } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { TabbedScreen } from "../components/tabbed-screen.tsx";
import { Time } from "../components/time.tsx";
import { client, session } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import type { ScreenProps } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { settingsTexts } from "../texts/settings.ts";
import { CredentialList } from "./credential-list.tsx";
import { MemberList } from "./member-list.tsx";
import { PermissionBadges } from "./permissions.tsx";
import { TokenList } from "./token-list.tsx";

const tabs = [
  { name: "", text: settingsTexts.workspace, Content: WorkspaceFacts },
  { name: "members", text: settingsTexts.members, Content: MemberList },
  { name: "tokens", text: settingsTexts.tokens, Content: TokenList },
  { name: "credentials", text: settingsTexts.credentials, Content: CredentialList },
] as const;

/** Settings screen, with tabs for the workspace, its members, tokens and credentials. */
export function Screen({ subpath: [tab = ""] }: ScreenProps) {
  return <TabbedScreen screen="settings" title={commonTexts.settings} tabs={tabs} current={tab} />;
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
