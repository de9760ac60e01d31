/** Separator between a message's sentence about a problem and each consequence after it. */
export const CONSEQUENCE = "; ";
