import { ConfigBody } from "./config-body.ts";
import { WorkspaceConfig, type WorkspaceConfigParts } from "./workspace-config.ts";

/**
 * Assumed maximum difference in milliseconds between the clocks of two nodes. `updatedAfter` in a
 * request may be a time of another node's clock, so a workspace counts as changed even if its last
 * change is up to this much older than `updatedAfter`.
 */
const CLOCK_DIFFERENCE_MS_MAX = 60_000;

/** Holds the configuration of each workspace, which rudder-servers request. */
export class WorkspaceConfigs {
  readonly #parts: WorkspaceConfigParts;
  readonly #configs = new Map<string, WorkspaceConfig>();
  /** The last result of `ofAll`, which `ofAll` returns again while nothing has changed. */
  #several: ConfigBody | undefined;

  constructor(parts: WorkspaceConfigParts) {
    this.#parts = parts;
  }

  /** Returns the configuration of a workspace. */
  async of(workspaceId: string): Promise<ConfigBody> {
    const make = () => new WorkspaceConfig(this.#parts, workspaceId);
    return await this.#configs.getOrInsertComputed(workspaceId, make).current();
  }

  /**
   * Returns a JSON object with the configurations of several workspaces, by workspace id. A
   * configuration without a change after `updatedAfter` (milliseconds since the epoch) is null.
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
