import { isObject } from "../is-object.ts";
/** The members of an event that prevent some destinations from getting the event. */
export interface DestinationChoice {
  /**
   * Member `integrations` of the event. Its keys are ids, names and kinds of destinations, and
   * `All`. A destination with the value false does not get the event (see `isChosen`).
   */
  integrations: Readonly<Record<string, unknown>>;
  /** Ids of the consents that the user denied. */
  deniedConsentIds: readonly unknown[];
}

const none: readonly unknown[] = [];

/**
 * Reads from an event's members `integrations` and `context.consentManagement` which destinations
 * must not get the event. Returns undefined if the members allow all destinations.
 */
export function choiceOf(integrations: unknown, consent: unknown): DestinationChoice | undefined {
  const wanted = isObject(integrations) ? integrations : {};
  const denied = isObject(consent) ? consent.deniedConsentIds : undefined;
  const deniedConsentIds: readonly unknown[] = Array.isArray(denied) ? denied : none;
  const excludes = Object.values(wanted).includes(false);
  if (!excludes && deniedConsentIds.length === 0) return undefined;
  return { integrations: wanted, deniedConsentIds };
}

/** The properties of a destination by which `isChosen` decides whether it may get an event. */
interface ChosenDestination {
  id: string;
  name: string;
  type: string;
  /** Consents that the destination needs. It gets no event of a user who denied one of them. */
  consentIds?: readonly string[] | undefined;
}

/**
 * Whether a destination may get the event: not if the user denied a consent that the destination
 * needs. Otherwise the first value in `integrations` for its id, name, kind or `All` decides,
 * ignoring case: only `false` forbids.
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
