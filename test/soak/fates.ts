/**
 * Fates of the soak's pixels, decided by their number: the transformations drop one in 50, throw on
 * one in 100, and pass the others with the number of their revision.
 */
export type Fate = "passes" | "dropped" | "throws";

export function fateOf(number: number): Fate {
  if (number % 50 === 7) return "dropped";
  return number % 100 === 13 ? "throws" : "passes";
}

/** Whether the flapping receiver rejects the pixel permanently. */
export const isRefused = (number: number) => number % 1_000 === 500;

export const codeOf = {
  javascript: (revision: number) => `export function transformEvent(event) {
  const number = Number(event.properties.id.split(":")[1]);
  if (number % 50 === 7) return null;
  if (number % 100 === 13) throw new Error("thirteen");
  event.properties.revision = ${revision};
  return event;
}`,
  pythonfaas: (revision: number) => `def transformEvent(event, metadata):
    number = int(event['properties']['id'].split(':')[1])
    if number % 50 == 7:
        return None
    if number % 100 == 13:
        raise ValueError('thirteen')
    event['properties']['revision'] = ${revision}
    return event
`,
};

/** Test event with an id, which the code needs and the default test events lack. */
export const testEvent = { type: "track", event: "Soak", userId: "u", properties: { id: "u:1" } };
