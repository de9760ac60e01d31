import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

const compress = promisify(gzip);
/** Requests for the same body after which it is compressed. */
const REQUESTS_BEFORE_COMPRESSION = 2;

/** The configuration of one workspace, or of several, as rudder-server gets it. */
export class ConfigBody {
  /** The configuration as JSON. A blob is sent without a copy. */
  readonly json: Blob;
  /** Entity tag without its double quotes. It is the same on all nodes, but for rare accidents. */
  readonly tag: string;
  /** When this node noticed the last change, in milliseconds since the epoch. */
  readonly updatedAt: number;
  #requests = 0;
  #gzip: Blob | undefined;

  constructor(json: Blob, tag: string, updatedAt: number) {
    this.json = json;
    this.tag = tag;
    this.updatedAt = updatedAt;
  }

  /**
   * Returns the body compressed with gzip; undefined while it is not. A body is compressed in a
   * thread once it has been asked for twice, because most bodies of a busy catalog are sent once.
   */
  compressed(): Blob | undefined {
    this.#requests += 1;
    // Where it fails, the body stays as it is.
    if (this.#requests === REQUESTS_BEFORE_COMPRESSION) this.#compress().catch(() => {});
    return this.#gzip;
  }

  async #compress(): Promise<void> {
    const level = constants.Z_BEST_SPEED;
    this.#gzip = new Blob([await compress(await this.json.arrayBuffer(), { level })]);
  }
}
