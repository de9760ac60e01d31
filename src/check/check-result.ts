/** Result of one check of a machine's fitness to run a server, such as the check of its disk. */
export interface CheckResult {
  /**
   * Outcome of the check: `fails` if a server would not start or not work, `warns` if it would work
   * with a problem that the operator should know, and `ok` in all other cases.
   */
  state: "ok" | "warns" | "fails";
  subject: string;
  /**
   * Text that says what the check found. Unless the state is `ok`, it also says what the operator
   * has to do.
   */
  detail: string;
}

/** Returns an `ok` result if `isOk`; otherwise a `warns` result, with the advice in its detail. */
export function okOrWarns(
  isOk: boolean,
  { subject, detail, advice }: Omit<CheckResult, "state"> & { advice: string },
): CheckResult {
  if (isOk) return { state: "ok", subject, detail };
  return { state: "warns", subject, detail: `${detail}; ${advice}` };
}
