import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Name } from "../components/name.tsx";
import { TabbedScreen } from "../components/tabbed-screen.tsx";
import { type Column, column, Pagination, TablePanel } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, type ScreenProps } from "../router.ts";
import { alertsTexts } from "../texts/alerts.ts";
import { commonTexts } from "../texts/common.ts";
import { ReceiverList } from "./receiver-list.tsx";
import { noReceiver, RuleList } from "./rule-list.tsx";

type Alert = AnswerOf<"GET /v2/alerts">["alerts"][number];

const RELOAD_MS = 10_000;

const tabs = [
  { name: "", text: commonTexts.alerts, Content: AlertList },
  { name: "rules", text: alertsTexts.rules, Content: RuleList },
  { name: "receivers", text: alertsTexts.receivers, Content: ReceiverList },
] as const;

/** Alerts screen, with tabs for alerts, rules and receivers. */
export function Screen({ subpath: [tab = ""] }: ScreenProps) {
  return <TabbedScreen screen="alerts" title={commonTexts.alerts} tabs={tabs} current={tab} />;
}

/** List of open and past alerts, open ones first. */
function AlertList() {
  const [page, setPage] = useState(1);
  const { value, error, reload } = useResource(() => loadAlerts(page), ["alerts", page], RELOAD_MS);
  return (
    <TablePanel
      label={commonTexts.alerts}
      columns={columns}
      rows={value?.alerts}
      keyOf={({ id }) => id}
      empty={value?.lacksReceiver ? noReceiver : { icon: "alert", ...alertsTexts.noAlerts }}
      error={error}
      retry={reload}
    >
      <Pagination page={page} total={value?.paging.total} onChange={setPage} />
    </TablePanel>
  );
}

/**
 * Returns a page of alerts with `lacksReceiver`: whether the workspace has neither alerts nor
 * receivers of alerts. `lacksReceiver` is always false if the user lacks the permission to see
 * receivers.
 */
async function loadAlerts(page: number) {
  const answer = await client.call("GET /v2/alerts", { query: { page } });
  const isAsked = answer.paging.total === 0 && missingPermission("workspace:admin") === undefined;
  const lacksReceiver =
    isAsked && (await client.call("GET /v2/alerts/receivers")).paging.total === 0;
  return { ...answer, lacksReceiver };
}

const columns: Column<Alert>[] = [
  column.narrow(commonTexts.state, ({ state }) => (
    <span class={state === "open" ? "badge bad" : "badge"}>
      {state === "open" ? alertsTexts.open : alertsTexts.ended}
    </span>
  )),
  column.name(alertsTexts.alert, (alert) => {
    const href = subjectHref(alert);
    return href === undefined ? alert.message : <a href={href}>{alert.message}</a>;
  }),
  column.plain(alertsTexts.rule, ({ rule }) => <Name cut>{rule.name}</Name>),
  column.narrow(alertsTexts.began, ({ beganAt }) => <Time at={beganAt} />),
  column.narrow(alertsTexts.ended, ({ endedAt }) => endedAt && <Time at={endedAt} />),
  column.plain(alertsTexts.notified, ({ notifications }) => {
    const sent = notifications.filter(({ state }) => state === "sent").length;
    const text = alertsTexts.notifications(sent, notifications.length);
    const unsent = notifications.find(({ reason }) => reason);
    if (unsent === undefined) return text;
    return (
      <>
        {text} <span class="bad small">{unsent.reason}</span>
      </>
    );
  }),
];

/**
 * Returns a link to what an alert is about: the dead letters of a destination, or the page of a
 * destination, source or transformation. Other alerts link to the system screen; undefined if the
 * session lacks the permission for it.
 */
function subjectHref({ kind, subject: { type, id } }: Alert): string | undefined {
  if (kind === "dead-letters") return hrefTo("dead-letters", { destinationId: id });
  if (type === "destination" || type === "source" || type === "transformation") {
    return hrefTo(`${type}s`, id);
  }
  return missingPermission("workspace:admin") === undefined ? hrefTo("system") : undefined;
}
