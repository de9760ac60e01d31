/** Stands between a sentence about a trouble and each of the sentences that follow from it. */
export const CONSEQUENCE = "; ";
