import type { Catalog } from "../../catalog/catalog.ts";
import { isoTime } from "../schema/common.ts";
import { ConfigBody } from "./config-body.ts";
import {
  RoutedResources,
  type RoutedResourcesParts,
  type SourcePiece,
} from "./routed-resources.ts";

export interface WorkspaceConfigParts extends RoutedResourcesParts {
  catalog: RoutedResourcesParts["catalog"] & Pick<Catalog, "workspaces">;
}

/** JSON of the parts of a configuration that belong to the whole workspace, not to one source. */
interface WorkspaceParts {
  libraries: string;
  credentials: string;
}

/**
 * The configuration of one workspace for rudder-server. Each rudder-server requests it every few
 * seconds, so its bytes are kept until the catalog changes.
 */
export class WorkspaceConfig {
  readonly #parts: WorkspaceConfigParts;
  readonly #workspaceId: string;
  readonly #resources: RoutedResources;
  /**
   * Values of the counters of catalog changes at the last read of the catalog. Undefined before the
   * first read and after a failed read.
   */
  #readAt: { topology: number; programs: number } | undefined;
  #workspaceParts: WorkspaceParts = { libraries: "", credentials: "" };
  #body: ConfigBody | undefined;
  #reading: Promise<void> | undefined;

  constructor(parts: WorkspaceConfigParts, workspaceId: string) {
    this.#parts = parts;
    this.#workspaceId = workspaceId;
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
    const { routing } = this.#parts.catalog;
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
    const { routing } = this.#parts.catalog;
    const before = this.#readAt;
    const now = { topology: routing.topology(), programs: routing.programs() };
    // After an error, everything is read again.
    this.#readAt = undefined;
    const changed = before && routing.changedSince(before.topology);
    if (changed === undefined) await this.#resources.readAll();
    else if (before?.topology !== now.topology) await this.#resources.readSome(changed);
    if (before?.programs !== now.programs) {
      await this.#resources.readLinks();
      this.#workspaceParts = this.#readWorkspaceParts();
    }
    const pieces = await this.#resources.pieces();
    await this.#parts.slicer.run(() => this.#makeBody(pieces));
    this.#readAt = now;
  }

  #readWorkspaceParts(): WorkspaceParts {
    const { routing, live } = this.#parts.catalog;
    const libraries = routing.publishedLibraries(this.#workspaceId);
    const values = Object.entries(live.credentials(this.#workspaceId));
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
      `{"enableMetrics":false,"workspaceId":${JSON.stringify(this.#workspaceId)},"sources":[`,
      ...pieces.flatMap(({ source }, index) => (index === 0 ? [source] : [",", source])),
      `],"libraries":${libraries},"credentials":${credentials}`,
      `,"connections":{${connections.join(",")}},"updatedAt":"${isoTime(updatedAt)}"}`,
    ]);
    this.#body = new ConfigBody(json, tag, updatedAt);
  }
}
