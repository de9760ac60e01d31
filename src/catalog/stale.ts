import { ApiError } from "../errors.ts";

/** Published code changed between a check and its commit: check again. */
export class Stale extends ApiError {
  readonly stale = true;

  constructor() {
    super("conflict", "Published code changed while this was tested; send the request again");
  }
}
