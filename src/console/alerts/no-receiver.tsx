import type { EmptyText } from "../components/layout.tsx";
import { hrefTo } from "../router.ts";
import { alertsTexts } from "../texts/alerts.ts";

/** Text in place of a list that stays empty until somebody gets alerts. */
export const noReceiver: EmptyText = {
  icon: "alert",
  ...alertsTexts.noReceiverYet,
  action: (
    <a class="button main" href={hrefTo("alerts", "receivers")}>
      {alertsTexts.setUpReceiver}
    </a>
  ),
};
