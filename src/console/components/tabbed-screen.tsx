import type { ComponentType } from "preact";
import { missingPermission } from "../data/session.ts";
import { hrefTo } from "../router.ts";
import { PermissionRequired, ScreenHeader, Tabs } from "./layout.tsx";

/**
 * Screen with tabs. The first tab has an empty name and the address of the screen. The other tabs
 * need the permission `workspace:admin`.
 */
export function TabbedScreen(props: {
  screen: string;
  title: string;
  tabs: readonly { name: string; text: string; Content: ComponentType }[];
  current: string;
}) {
  const { screen, title, tabs, current } = props;
  const permission = current === "" ? undefined : missingPermission("workspace:admin");
  const { Content } = tabs.find(({ name }) => name === current) ?? {};
  return (
    <>
      <ScreenHeader title={title} />
      <Tabs
        tabs={tabs.map((tab) => (tab.name === "" ? tab : { ...tab, needs: "workspace:admin" }))}
        current={current}
        hrefOf={(name) => (name === "" ? hrefTo(screen) : hrefTo(screen, name))}
      />
      {permission !== undefined && <PermissionRequired permission={permission} />}
      {permission === undefined && Content && <Content />}
    </>
  );
}
