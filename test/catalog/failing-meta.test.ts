import { expect, test } from "bun:test";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { failMetaWrites } from "../store/disk.ts";
import { freshCatalog, freshDirectory } from "./_setup.ts";

test.skipIf(process.platform !== "linux")(
  "a failed write of a meta page refuses one change, and no other call",
  async () => {
    const directory = realpathSync(await freshDirectory());
    const catalog = await freshCatalog(directory);
    const { id } = await catalog.workspaces.create("Acme");
    failMetaWrites(join(directory, "catalog.mdb"));
    const refused = catalog.sources.create(id, { name: "Refused" });
    await expect(refused).rejects.toMatchObject({ refusal: "unavailable" });
    expect(catalog.workspaces.list().map(({ name }) => name)).toEqual(["Acme"]);
    const source = await catalog.sources.create(id, { name: "Taken" });
    expect(catalog.live.source(source.writeKey)).toEqual(source);
    expect(catalog.trouble()).toBeUndefined();
  },
);
