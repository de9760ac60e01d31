import type { ComponentChildren } from "preact";
import { formatCompact, formatCount, formatDuration, formatRate, pluralize } from "../format.ts";

export const overviewTexts = {
  connections: "Connections",
  noConnections: {
    title: "No connections yet",
    text: "A connected destination receives the events of the source from that moment.",
  },
  noTransformation: "No transformation",
  noIssues: "No issues",
  issues: "Issues",
  eventFlow: "Event flow",
  firstSteps: "First steps",
  steps: {
    source: { title: "Create a source", text: "Your pages send its write key with each event." },
    destination: {
      title: "Create a destination",
      text: "It receives the events: a webhook, a database, Kafka, an object store or a file.",
    },
    testEvent: {
      title: "Connect them, and send a test event",
      text: "The page of the source shows its delivery.",
    },
    transformation: {
      title: "Write a transformation",
      text: "JavaScript or Python that changes, drops or adds events.",
    },
  },
  pendingFor: (events: number, seconds: number) =>
    `${formatCompact(events)} pending, ${formatDuration(seconds)}`,
  failedRate: (perSecond: number) => `${formatRate(perSecond)} failed`,
  deliveredRate: (perSecond: number) => `${formatRate(perSecond)} delivered`,
  since: (time: ComponentChildren) => ["began ", time],
  showMore: (count: number) => `Show ${formatCount(count)} more`,
  issuesNotShown: (count: number) => `${formatCount(count)} more in the list of destinations`,
  deadLetters: (count: number) => pluralize(count, "dead letter"),
  /** Labels of the button beside a problem, by the kind of problem. */
  actions: {
    "not-ready": "System",
    "node-missing": "System",
    warning: "System",
    "destination-down": "Fix",
    "destination-failing": "Fix",
    "destination-lagging": "Open",
    suspended: "Open code",
    alert: "Open",
    "alert-receiver": "Receivers",
    "dead-letters": "Review",
  },
  searchConnections: "Search connections",
  moreNodes: (count: number) => `${formatCount(count)} more`,
  graphCut: (shown: number, total: number) =>
    `The ${formatCount(shown)} most urgent or busiest of ${formatCount(total)} destinations`,
  figuresRequire: (permission: string) =>
    `Figures require ${permission}. The sidebar lists the other screens.`,
};
