import { assert } from "../assert.ts";
import { Permit } from "../concurrency/permit.ts";
import { TRANSFORMER_BYTES_MAX, TRANSFORMER_BYTES_OF_WORKSPACE_MAX } from "./limits.ts";

/** Bytes that a request with a smaller body counts as, for its costs besides the body. */
const REQUEST_BYTES_MIN = 65_536;

/** Bounds the bytes of the requests that are being transformed, in total and by workspace. */
export class Admission {
  readonly #max: number;
  readonly #ofWorkspaceMax: number;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(max = TRANSFORMER_BYTES_MAX, ofWorkspaceMax = TRANSFORMER_BYTES_OF_WORKSPACE_MAX) {
    this.#max = max;
    this.#ofWorkspaceMax = ofWorkspaceMax;
  }

  /**
   * Returns a permit for a request. Returns undefined when the request and the ones in progress
   * would exceed the maximum of bytes, in total or of the workspace.
   */
  tryAdmit(workspaceId: string, bodyBytes: number): Permit | undefined {
    const bytes = Math.max(REQUEST_BYTES_MIN, bodyBytes);
    const held = this.#held.get(workspaceId) ?? 0;
    if (this.#all + bytes > this.#max || held + bytes > this.#ofWorkspaceMax) return undefined;
    this.#add(workspaceId, bytes);
    return new Permit(() => this.#add(workspaceId, -bytes));
  }

  #add(workspaceId: string, bytes: number): void {
    const held = (this.#held.get(workspaceId) ?? 0) + bytes;
    this.#all += bytes;
    assert(held >= 0 && this.#all >= 0, "Requests hold no less than 0 bytes");
    if (held > 0) this.#held.set(workspaceId, held);
    else this.#held.delete(workspaceId);
  }
}
