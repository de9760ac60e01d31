import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

const compress = promisify(gzip);
/** Number of requests for the same body after which the server begins to compress the body. */
const REQUESTS_BEFORE_COMPRESSION = 2;

/** Body of an answer to rudder-server: the configuration of one or several workspaces. */
export class ConfigBody {
  /** The configuration as JSON. The server sends the bytes of a `Blob` without copying them. */
  readonly json: Blob;
  /**
   * ETag of the body, without double quotes. It depends only on the configuration's content, so
   * that all nodes give the same configuration the same ETag.
   */
  readonly tag: string;
  /**
   * When this node noticed the last change of the configuration, in milliseconds since the epoch.
   */
  readonly updatedAt: number;
  #requests = 0;
  #gzip: Blob | undefined;

  constructor(json: Blob, tag: string, updatedAt: number) {
    this.json = json;
    this.tag = tag;
    this.updatedAt = updatedAt;
  }

  /**
   * Returns the body compressed with gzip. Returns undefined until that is ready: another thread
   * compresses the body after its second request, because most bodies are sent only once.
   */
  compressed(): Blob | undefined {
    this.#requests += 1;
    // When compressing fails, the body stays uncompressed.
    if (this.#requests === REQUESTS_BEFORE_COMPRESSION) this.#compress().catch(() => {});
    return this.#gzip;
  }

  async #compress(): Promise<void> {
    const level = constants.Z_BEST_SPEED;
    this.#gzip = new Blob([await compress(await this.json.arrayBuffer(), { level })]);
  }
}
