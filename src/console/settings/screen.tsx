import { Empty, Head, Tabs } from "../parts/layout.tsx";
import { type ScreenProps, to } from "../router.ts";
import { lacking } from "../session.ts";
import { Credentials } from "./credentials.tsx";
import { Members } from "./members.tsx";
import { Tokens } from "./tokens.tsx";
import { Workspace } from "./workspace.tsx";

const tabs = [
  { name: "", text: "Workspace" },
  { name: "members", text: "Members" },
  { name: "tokens", text: "Tokens" },
  { name: "credentials", text: "Credentials" },
];

/** Who may do what, and what code may read. */
export function Screen({ rest: [tab = ""] }: ScreenProps) {
  const permission = lacking("workspace:admin");
  return (
    <>
      <Head title="Settings" />
      <Tabs
        tabs={tabs.map(({ name, text }) => ({
          href: name === "" ? to("settings") : to("settings", name),
          text,
          current: name === tab,
        }))}
      />
      {tab === "" && <Workspace />}
      {tab !== "" && permission !== undefined && (
        <Empty icon="info" title={`This takes the permission ${permission}`}>
          The token that you signed in with lacks it.
        </Empty>
      )}
      {permission === undefined && tab === "members" && <Members />}
      {permission === undefined && tab === "tokens" && <Tokens />}
      {permission === undefined && tab === "credentials" && <Credentials />}
    </>
  );
}
