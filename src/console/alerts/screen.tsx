import { PermissionRequired, ScreenHeader, Tabs } from "../components/layout.tsx";
import { missingPermission } from "../data/session.ts";
import { hrefTo, type ScreenProps } from "../router.ts";
import { alertsTexts } from "../texts/alerts.ts";
import { commonTexts } from "../texts/common.ts";
import { AlertList } from "./alert-list.tsx";
import { ReceiverList } from "./receiver-list.tsx";
import { RuleList } from "./rule-list.tsx";

const tabs = [
  { name: "", text: commonTexts.alerts },
  { name: "rules", text: alertsTexts.rules, needs: "workspace:admin" },
  { name: "receivers", text: alertsTexts.receivers, needs: "workspace:admin" },
] as const;

/** Alerts screen, with tabs for alerts, rules and receivers. */
export function Screen({ subpath: [tab = ""] }: ScreenProps) {
  const permission = missingPermission("workspace:admin");
  return (
    <>
      <ScreenHeader title={commonTexts.alerts} />
      <Tabs
        tabs={tabs}
        current={tab}
        hrefOf={(name) => (name === "" ? hrefTo("alerts") : hrefTo("alerts", name))}
      />
      {tab === "" && <AlertList />}
      {tab !== "" && permission !== undefined && <PermissionRequired permission={permission} />}
      {permission === undefined && tab === "rules" && <RuleList />}
      {permission === undefined && tab === "receivers" && <ReceiverList />}
    </>
  );
}
