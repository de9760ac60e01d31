import { ScreenHeader, Tabs } from "../components/layout.tsx";
import { PermissionRequired } from "../components/permission-required.tsx";
import { missingPermission } from "../data/session.ts";
import { hrefTo, type ScreenProps } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { settingsTexts } from "../texts/settings.ts";
import { CredentialList } from "./credential-list.tsx";
import { MemberList } from "./member-list.tsx";
import { TokenList } from "./token-list.tsx";
import { WorkspaceFacts } from "./workspace-facts.tsx";

const tabs = [
  { name: "", text: settingsTexts.workspace },
  { name: "members", text: settingsTexts.members },
  { name: "tokens", text: settingsTexts.tokens },
  { name: "credentials", text: settingsTexts.credentials },
];

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
