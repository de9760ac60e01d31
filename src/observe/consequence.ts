/**
 * Separator in a message about a problem: between the cause and the first consequence, and between
 * two consequences.
 */
export const CONSEQUENCE = "; ";

/**
 * Joins messages about one problem into one message: `cause`, followed by the consequences that the
 * messages in `sentences` name, each of them once.
 */
export function joinConsequences(cause: string, sentences: readonly string[]): string {
  const consequences = sentences.flatMap((it) => it.split(CONSEQUENCE).slice(1));
  return [cause, ...new Set(consequences)].join(CONSEQUENCE);
}
