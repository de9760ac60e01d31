/** One thing that a server needs, as it was found on this machine. */
export interface CheckResult {
  /** `fails`: the server would not start, or not work; `warns`: an operator should know. */
  state: "ok" | "warns" | "fails";
  subject: string;
  /** A sentence with what was found and, unless it is ok, what would help. */
  detail: string;
}
