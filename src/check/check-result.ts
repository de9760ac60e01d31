/** Result of checking one thing that a server needs. */
export interface CheckResult {
  /** `fails`: the server would not start, or not work; `warns`: an operator should know. */
  state: "ok" | "warns" | "fails";
  subject: string;
  /** The observation and, unless it is ok, the remedy. */
  detail: string;
}
