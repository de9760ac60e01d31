/** An error of user code, in the user's own coordinates (1-based line and column). */
export interface UserError {
  /** `TypeError: x is not a function\n    at transformEvent (name:2:8)`; never a host path. */
  message: string;
  line?: number;
  column?: number;
  /** importName of the library the error is in; absent for the transformation itself. */
  library?: string;
}
