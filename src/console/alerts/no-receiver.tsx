import { LinkButton } from "../components/button.tsx";
import type { EmptyText } from "../components/layout.tsx";
import { hrefTo } from "../router.ts";
import { alertsTexts } from "../texts/alerts.ts";

/** Text in place of the lists of alerts and rules while the workspace has no receiver of alerts. */
export const noReceiver: EmptyText = {
  icon: "alert",
  ...alertsTexts.noReceiverYet,
  action: (
    <LinkButton kind="main" href={hrefTo("alerts", "receivers")}>
      {alertsTexts.setUpReceiver}
    </LinkButton>
  ),
};
