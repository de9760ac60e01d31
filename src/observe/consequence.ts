/**
 * Separator in a message about a problem. It stands after the sentence with the cause, and between
 * two consequences.
 */
export const CONSEQUENCE = "; ";

/**
 * Joins messages about one problem into one message. The result is `cause`, followed by each
 * consequence in the messages once.
 */
export function joinConsequences(cause: string, sentences: readonly string[]): string {
  const consequences = sentences.flatMap((it) => it.split(CONSEQUENCE).slice(1));
  return [cause, ...new Set(consequences)].join(CONSEQUENCE);
}
