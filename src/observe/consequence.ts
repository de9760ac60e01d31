/** Separator between a message's sentence about a problem and each consequence after it. */
export const CONSEQUENCE = "; ";

/**
 * Joins sentences that begin with the same cause into one: `cause`, followed by the consequences in
 * all sentences, without repetitions.
 */
export function joinConsequences(cause: string, sentences: readonly string[]): string {
  const consequences = sentences.flatMap((it) => it.split(CONSEQUENCE).slice(1));
  return [cause, ...new Set(consequences)].join(CONSEQUENCE);
}
