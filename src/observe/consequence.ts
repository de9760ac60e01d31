/** Separator between a message's sentence about a problem and each consequence after it. */
export const CONSEQUENCE = "; ";

/** Joins sentences of one cause: `cause`, then each consequence that one of the sentences has. */
export function joinConsequences(cause: string, sentences: readonly string[]): string {
  const consequences = sentences.flatMap((it) => it.split(CONSEQUENCE).slice(1));
  return [cause, ...new Set(consequences)].join(CONSEQUENCE);
}
