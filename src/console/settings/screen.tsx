import { EmptyState, ScreenHeader, Tabs } from "../components/layout.tsx";
import { missingPermission } from "../data/session.ts";
import { hrefTo, type ScreenProps } from "../router.ts";
import { Credentials } from "./credential-list.tsx";
import { Members } from "./member-list.tsx";
import { Tokens } from "./token-list.tsx";
import { Workspace } from "./workspace-facts.tsx";

const tabs = [
  { name: "", text: "Workspace" },
  { name: "members", text: "Members" },
  { name: "tokens", text: "Tokens" },
  { name: "credentials", text: "Credentials" },
];

/** Who may do what, and what code may read. */
export function Screen({ subpath: [tab = ""] }: ScreenProps) {
  const permission = missingPermission("workspace:admin");
  return (
    <>
      <ScreenHeader title="Settings" />
      <Tabs
        tabs={tabs.map(({ name, text }) => ({
          href: name === "" ? hrefTo("settings") : hrefTo("settings", name),
          text,
          current: name === tab,
        }))}
      />
      {tab === "" && <Workspace />}
      {tab !== "" && permission !== undefined && (
        <EmptyState icon="info" title={`This takes the permission ${permission}`}>
          The token that you signed in with lacks it.
        </EmptyState>
      )}
      {permission === undefined && tab === "members" && <Members />}
      {permission === undefined && tab === "tokens" && <Tokens />}
      {permission === undefined && tab === "credentials" && <Credentials />}
    </>
  );
}
