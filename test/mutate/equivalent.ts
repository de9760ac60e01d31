/** A mutant that behaves as the code does, so that no test can tell them apart. */
export interface Equivalent {
  file: string;
  /** The line on which the change begins, without the space around it. */
  line: string;
  /** As the list of survivors prints it. */
  change: string;
  why: string;
}

export const equivalents: Equivalent[] = [];
