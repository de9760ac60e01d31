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
