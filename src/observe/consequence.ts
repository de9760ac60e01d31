/** Separator between a message's sentence about a problem and each consequence after it. */
export const CONSEQUENCE = "; ";

/**
 * Joins sentences that have the same cause into one: `cause`, then each different consequence in
 * the sentences, once.
 */
export function joinConsequences(cause: string, sentences: readonly string[]): string {
  const consequences = sentences.flatMap((it) => it.split(CONSEQUENCE).slice(1));
  return [cause, ...new Set(consequences)].join(CONSEQUENCE);
}
