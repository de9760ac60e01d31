/**
 * Separator in a message about a problem. It stands after the sentence with the cause, and between
 * two consequences.
 */
export const CONSEQUENCE = "; ";

/**
 * Joins messages about one problem into one message: `cause`, followed by all consequences that the
 * messages name. A consequence that several messages name is added only once.
 */
export function joinConsequences(cause: string, sentences: readonly string[]): string {
  const consequences = sentences.flatMap((it) => it.split(CONSEQUENCE).slice(1));
  return [cause, ...new Set(consequences)].join(CONSEQUENCE);
}
