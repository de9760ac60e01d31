import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { isoTime } from "../schema/common.ts";
import {
  RoutedResources,
  type RoutedResourcesParts,
  type SourcePiece,
} from "./routed-resources.ts";

/**
 * Assumed maximum difference in milliseconds between the clocks of two nodes. A workspace also
 * counts as changed if its last change is less than this before `updatedAfter`, which may come from
 * another node's clock.
 */
const CLOCK_DIFFERENCE_MS_MAX = 60_000;

/** The configurations of all workspaces, as JSON that rudder-server can read. */
export class WorkspaceConfigs {
  readonly #configs = new Map<string, WorkspaceConfig>();
  /**
   * Last result of `ofAll`. `ofAll` returns the same object again while the configurations have not
   * changed.
   */
  #several: ConfigBody | undefined;

  constructor(private readonly parts: RoutedResourcesParts) {}

  /** Returns the configuration of a workspace. */
  async of(workspaceId: string): Promise<ConfigBody> {
    const make = () => new WorkspaceConfig(this.parts, workspaceId);
    return await this.#configs.getOrInsertComputed(workspaceId, make).current();
  }

  /**
   * Returns a JSON object with the configuration of each given workspace, by workspace id. The
   * value is null instead if the workspace's last change is older than `updatedAfter` (milliseconds
   * since the epoch) by `CLOCK_DIFFERENCE_MS_MAX` or more.
   */
  async ofAll(workspaceIds: readonly string[], updatedAfter = 0): Promise<ConfigBody> {
    const members: (string | Blob)[] = [];
    const tags: string[] = [];
    let newest = 0;
    for (const id of workspaceIds) {
      const { json, tag, updatedAt } = await this.of(id);
      const isChanged = updatedAt > updatedAfter - CLOCK_DIFFERENCE_MS_MAX;
      members.push(members.length === 0 ? "" : ",", `${JSON.stringify(id)}:`);
      members.push(isChanged ? json : "null");
      tags.push(isChanged ? tag : "-");
      newest = Math.max(newest, updatedAt);
    }
    const tag = Bun.hash(`${workspaceIds.join()} ${tags.join()}`).toString(36);
    if (this.#several?.tag !== tag) {
      this.#several = new ConfigBody(new Blob(["{", ...members, "}"]), tag, newest);
    }
    return this.#several;
  }
}

/**
 * The configuration of one workspace for rudder-server. Each rudder-server requests it every few
 * seconds, so its bytes are kept until the catalog changes.
 */
export class WorkspaceConfig {
  readonly #resources: RoutedResources;
  /**
   * Values of the catalog's change counters at the last read. If the present values differ, the
   * catalog is read again. Undefined before the first read and after a failed read.
   */
  #readAt: { topology: number; programs: number } | undefined;
  /**
   * JSON of the parts of the configuration that belong to the workspace as a whole: its libraries
   * and its credentials.
   */
  #workspaceParts = { libraries: "", credentials: "" };
  #body: ConfigBody | undefined;
  #reading: Promise<void> | undefined;

  constructor(
    private readonly parts: RoutedResourcesParts,
    private readonly workspaceId: string,
  ) {
    this.#resources = new RoutedResources(parts, workspaceId);
  }

  /** Returns the configuration with all changes that were stored before the call. */
  async current(): Promise<ConfigBody> {
    const known = this.#known();
    if (known !== undefined) return known;
    // A read that began before this call may have missed a change.
    await this.#reading?.catch(() => {});
    if (this.#known() === undefined) await this.#readOnce();
    return this.#body!;
  }

  #known(): ConfigBody | undefined {
    const { routing } = this.parts.catalog;
    const isCurrent =
      this.#readAt?.topology === routing.topology() && this.#readAt.programs === routing.programs();
    return isCurrent ? this.#body : undefined;
  }

  async #readOnce(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { routing } = this.parts.catalog;
    const before = this.#readAt;
    const now = { topology: routing.topology(), programs: routing.programs() };
    // If this read fails, the next one reads everything again.
    this.#readAt = undefined;
    const changed = before && routing.changedSince(before.topology);
    if (changed === undefined) await this.#resources.readAll();
    else if (before?.topology !== now.topology) await this.#resources.readSome(changed);
    if (before?.programs !== now.programs) {
      await this.#resources.readLinks();
      this.#workspaceParts = this.#readWorkspaceParts();
    }
    const pieces = await this.#resources.pieces();
    await this.parts.slicer.run(() => this.#makeBody(pieces));
    this.#readAt = now;
  }

  #readWorkspaceParts() {
    const { routing, live } = this.parts.catalog;
    const libraries = routing.publishedLibraries(this.workspaceId);
    const values = Object.entries(live.credentials(this.workspaceId));
    const credentials = values.map(([key, value]) => [key, { key, value, isSecret: true }]);
    return {
      libraries: JSON.stringify(libraries.map((versionId) => ({ versionId }))),
      credentials: JSON.stringify(Object.fromEntries(credentials)),
    };
  }

  #makeBody(pieces: readonly SourcePiece[]): void {
    const { libraries, credentials } = this.#workspaceParts;
    const hashes = pieces.map(({ hash }) => hash.toString(36)).join();
    const tag = BigInt(Bun.hash(`${libraries}${credentials}`, BigInt(Bun.hash(hashes)))).toString(
      36,
    );
    if (this.#body?.tag === tag) return;
    const updatedAt = Math.max(Date.now(), (this.#body?.updatedAt ?? 0) + 1);
    const connections = pieces.flatMap((piece) => piece.connections || []);
    const json = new Blob([
      `{"enableMetrics":false,"workspaceId":${JSON.stringify(this.workspaceId)},"sources":[`,
      ...pieces.flatMap(({ source }, index) => (index === 0 ? [source] : [",", source])),
      `],"libraries":${libraries},"credentials":${credentials}`,
      `,"connections":{${connections.join(",")}},"updatedAt":"${isoTime(updatedAt)}"}`,
    ]);
    this.#body = new ConfigBody(json, tag, updatedAt);
  }
}

const compress = promisify(gzip);
/** How many times a body must be requested before the server begins to compress it. */
const REQUESTS_BEFORE_COMPRESSION = 2;

/** Body of an answer to rudder-server: the configuration of one or several workspaces. */
export class ConfigBody {
  #requests = 0;
  #gzip: Blob | undefined;

  constructor(
    /** The configuration as JSON. The server sends the bytes of a `Blob` without copying them. */
    readonly json: Blob,
    /**
     * ETag of the body, without double quotes. It depends only on the configuration's content, so
     * that all nodes give the same configuration the same ETag.
     */
    readonly tag: string,
    /**
     * When this node noticed the last change of the configuration, in milliseconds since the epoch.
     */
    readonly updatedAt: number,
  ) {}

  /**
   * Returns the body compressed with gzip, or undefined while the compressed body is not ready. The
   * second call starts the compression on another thread. Bodies that are requested only once are
   * therefore not compressed.
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
