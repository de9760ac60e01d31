import { isObject } from "../is-object.ts";
/** The members of an event that choose the destinations which get it. */
export interface DestinationChoice {
  /** The member `integrations`: whether names or kinds of destinations, or `All`, get the event. */
  integrations: Readonly<Record<string, unknown>>;
  /** Ids of the consents that the user denied. */
  deniedConsentIds: readonly unknown[];
}

const none: readonly unknown[] = [];

/**
 * Returns the choice in an event's members `integrations` and `context.consentManagement`; undefined
 * when all destinations get the event.
 */
export function choiceOf(integrations: unknown, consent: unknown): DestinationChoice | undefined {
  const wanted = isObject(integrations) ? integrations : {};
  const denied = isObject(consent) ? consent.deniedConsentIds : undefined;
  const deniedConsentIds: readonly unknown[] = Array.isArray(denied) ? denied : none;
  const excludes = Object.values(wanted).includes(false);
  if (!excludes && deniedConsentIds.length === 0) return undefined;
  return { integrations: wanted, deniedConsentIds };
}

/** A destination as events name it. */
interface ChosenDestination {
  id: string;
  name: string;
  type: string;
  /** Ids of the consents that the destination needs. */
  consentIds?: readonly string[] | undefined;
}

/**
 * Whether the event may go to this destination. An entry for its name takes precedence over one for
 * its kind, and this over `All`. Without any entry it may. Upper and lower case are equal.
 */
export function isChosen(
  { integrations, deniedConsentIds }: DestinationChoice,
  { id, name, type, consentIds = [] }: ChosenDestination,
): boolean {
  if (consentIds.some((consent) => deniedConsentIds.includes(consent))) return false;
  const byName = new Map(
    Object.entries(integrations).map(([key, value]) => [key.toLowerCase(), value]),
  );
  const said = [id, name, type, "All"].map((key) => byName.get(key.toLowerCase()));
  return (said.find((value) => value !== undefined && value !== null) ?? true) !== false;
}
