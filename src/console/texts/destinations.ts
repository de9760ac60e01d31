import type { ComponentChildren } from "preact";
import { formatCount, isolated, pluralize } from "../format.ts";

/** Texts of the screens of destinations. */
export const destinationTexts = {
  connectionTestHint:
    "Sends an event named “Connection test” with the saved settings, and shows each step.",
  anyHealth: "Any health",
  deliveredRate: "Delivered, last minute",
  lastError: "Last error",
  destinationNoun: "destination",
  destinationExplained:
    "A destination receives the events of its connected sources: a webhook, a database, Kafka, an object store or a file.",
  health: "Health",
  deleteConsequence:
    "Its connections and its dead letters are deleted, and its pending events are not delivered. Its transformation is kept.",
  pausedEffect: "Paused: new events are skipped",
  consents: "Required consents",
  consentsHint:
    "Ids of consents, one per line. The destination receives no event that has one of them in `context.consentManagement.deniedConsentIds`.",
  saveSettings: "Save settings",
  settingsSaved: "Settings saved; they apply from the next delivery",
  healthy: "Healthy",
  down: "Down",
  waitingForSandbox: "Waiting for code",
  lagging: "Lagging",
  unknown: "Unknown",
  codeSuspended: "Code suspended",
  notDelivering: "Server not delivering",
  byRudderServer: "By rudder-server",
  endpoint: "Endpoint",
  deliveredBy: "Delivered by",
  typeOfRudderServer: (type: string) => `${type} (by rudder-server)`,
  deliveredElsewhere:
    "rudder-server delivers to this destination. Its figures, errors and retries are there.",
  opaqueSettings: "Settings (JSON)",
  opaqueSettingsHint:
    "With RudderStack's keys. Secrets have fields of their own; in lists, an empty one keeps the stored one.",
  expectedJsonObject: "Expected a JSON object",
  secretsEnteredAgain:
    "When other settings change, enter stored secrets again: any of the settings may say where they go.",
  partiallyRejecting: "Partially rejecting",
  openInTheEditor: "Open in the editor",
  searchTransformations: "Search transformations",
  passThrough: "None (pass-through)",
  apply: "Apply",
  createDestination: "Create destination",
  testSettings: "Test settings",
  duplicate: "Duplicate",
  /** Default name of a copy of a destination. The user can change it. */
  copyOf: (original: string) => `Copy of ${original}`,
  copyExplained: (name: string) =>
    `The settings of ${isolated(name)} are copied. Its connections and its transformation are not.`,
  secretsToEnter: "Secrets are never copied. Enter again:",
  /**
   * Label of a secret within a setting: the name of the setting, and that of the secret, such as
   * the name of an HTTP header.
   */
  secretOf: (setting: string, name: string) => `${setting}: ${isolated(name)}`,
  nameExample: "Warehouse",
  last: "Last",
  errors: "Errors",
  errorsHidden: (permission: string) => ({
    title: "Errors hidden",
    text: `Dead letters require ${permission}.`,
  }),
  noFailedEvents: {
    title: "No failed events",
    text: "Events that fail in the transformation or cannot be delivered become dead letters.",
  },
  figuresRequire: (permission: string) => `Figures require ${permission}.`,
  figuresIncomplete: (nodes: readonly string[]) =>
    `Figures are incomplete: no answer from ${nodes.join(", ")}.`,
  noSuccess: (since: ComponentChildren) => ["No successful delivery ", since],
  lastFailed: (time: ComponentChildren) => ["Last failed event ", time],
  /** Name, for screen readers, of the panel that says why deliveries to a destination fail. */
  trouble: "What is wrong",
  /** Reason of the last failed delivery, with the first line of the receiver's answer. */
  cause: (reason: string, answer: string | undefined) =>
    answer === undefined || reason.includes(answer) ? reason : `${reason}: ${answer}`,
  /** Advice for the user after a failed delivery, by the kind of failure. */
  advice: {
    suspended:
      "Every batch fails in the transformation. Correct and publish it; delivery then continues.",
    code: "These events fail in the transformation. Correct and publish it, then replay the dead letters.",
    unreachable: "Check the address in the settings and that the receiver runs, then test.",
    receiverFails:
      "The receiver itself fails. Events are sent again until it recovers, at most as long as the retry window; those given up are dead letters, to replay then.",
    credentials:
      "The receiver refuses the credentials: enter them again in the settings, then test.",
    address: "The receiver does not know this address: correct the URL in the settings, then test.",
    busy: "The receiver asks for fewer events. They are sent again, at most as long as the retry window; those given up are dead letters.",
    content:
      "The receiver refuses what these events contain. Change them in the transformation or the template, then replay the dead letters.",
    other: "Run a test: its steps show where delivery fails.",
  },
  failedEvents: (count: number) => `${pluralize(count, "failed event")} kept as dead letters`,
  openTransformation: "Open transformation",
  editSettings: "Edit settings",
  test: "Test",
  review: (count: number) => `Review ${formatCount(count)}`,
  reviewAndReplay: (count: number) => `Replay ${formatCount(count)}`,
};
