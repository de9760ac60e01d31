/**
 * The soak's transformations change a pixel by its number: one in 50 is dropped, one in 100
 * throws, the rest passes with the revision that it met.
 */
export type Fate = "passes" | "dropped" | "throws";

export function fateOf(number: number): Fate {
  if (number % 50 === 7) return "dropped";
  return number % 100 === 13 ? "throws" : "passes";
}

/** Numbers that the flapping receiver refuses for good. */
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

/** An event that the code takes: the default test events carry no id. */
export const testEvent = { type: "track", event: "Soak", userId: "u", properties: { id: "u:1" } };
