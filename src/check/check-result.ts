/** Result of one check of a machine's fitness to run a server, such as the check of its disk. */
export interface CheckResult {
  /**
   * `fails`: a server would not start or not work. `warns`: it would work, but with a problem that
   * the operator should know.
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
