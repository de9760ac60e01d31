/** Result of one check, such as the check of the disk. */
export interface CheckResult {
  /**
   * `fails`: a server would not start or not work. `warns`: it would work, but with a problem that
   * the operator should know.
   */
  state: "ok" | "warns" | "fails";
  subject: string;
  /**
   * Text that describes the observation of the check. Unless the state is `ok`, it also tells the
   * operator what to do.
   */
  detail: string;
}
