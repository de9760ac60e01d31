import type { CodeKind, Revision } from "../../src/catalog/model.ts";

/**
 * Specification §3 in memory, as simply as it can be said. Each trigger answers how it is refused,
 * or undefined and then the model has changed.
 */
export interface Thing {
  kind: CodeKind;
  id: string;
  importName?: string;
  versions: Revision[];
  published?: string;
  imports: string[];
  deleted: boolean;
}
export interface Item {
  thing: Thing;
  versionId: string;
  imports: string[];
}
export type Refused = "missing" | "invalid" | "conflict" | "stale" | undefined;

export class Model {
  things: Thing[] = [];
  /** destination → transformation, in the order of linking. */
  links = new Map<string, Thing>();
  readonly destinations: readonly string[];

  constructor(destinations: readonly string[]) {
    this.destinations = destinations;
  }

  /** Independent workspaces: no trigger changes two of them. */
  copy(): Model {
    const model = new Model(this.destinations);
    const copies = new Map<Thing, Thing>();
    for (const thing of this.things) copies.set(thing, { ...thing, versions: [...thing.versions] });
    model.things = [...copies.values()];
    model.links = new Map([...this.links].map(([to, thing]) => [to, copies.get(thing)!]));
    return model;
  }

  library(importName: string): Thing | undefined {
    return this.things.find((it) => it.published !== undefined && it.importName === importName);
  }

  importers(library: Thing): Thing[] {
    return this.things.filter(
      (it) =>
        it !== library &&
        it.published !== undefined &&
        it.imports.includes(library.importName ?? "-"),
    );
  }

  add(revision: Revision): Refused {
    const known = this.things.find(({ id }) => id === revision.id);
    if (known?.deleted) return "missing";
    if (known) known.versions.push(revision);
    else {
      const { kind, id, importName } = revision;
      const thing: Thing = { kind, id, versions: [revision], imports: [], deleted: false };
      this.things.push(importName === undefined ? thing : { ...thing, importName });
    }
    return undefined;
  }

  /**
   * `checked` are the versionIds that a check ran: libraries that the items import, and importers
   * of the libraries among the items.
   */
  publish(items: readonly Item[], checked: ReadonlySet<string>): Refused {
    const before = this.things.map((it) => ({ ...it }));
    const refused =
      this.#publishEach(items) ?? this.#unseen(items, checked) ?? this.#untested(items, checked);
    if (refused !== undefined) {
      for (const [index, thing] of this.things.entries()) {
        const { published: _, ...rest } = thing;
        Object.assign(thing, rest, before[index]);
        if (before[index]?.published === undefined) delete thing.published;
      }
    }
    return refused;
  }

  link(thing: Thing, destination: string): Refused {
    if (thing.deleted) return "missing";
    if (thing.published === undefined) return "invalid";
    if (this.links.get(destination) === thing) return undefined;
    this.links.delete(destination);
    this.links.set(destination, thing);
    return undefined;
  }

  unlink(thing: Thing, destination: string): Refused {
    if (thing.deleted) return "missing";
    if (this.links.get(destination) === thing) this.links.delete(destination);
    return undefined;
  }

  remove(thing: Thing): Refused {
    if (thing.deleted) return "missing";
    const used = thing.kind === "library" && thing.published !== undefined;
    if (used && this.importers(thing).length > 0) return "conflict";
    delete thing.published;
    thing.deleted = true;
    thing.imports = [];
    for (const [destination, linked] of this.links) {
      if (linked === thing) this.links.delete(destination);
    }
    return undefined;
  }

  #publishEach(items: readonly Item[]): Refused {
    for (const { thing, versionId, imports } of items) {
      const owner = thing.importName === undefined ? undefined : this.library(thing.importName);
      if (owner !== undefined && owner !== thing) return "conflict";
      thing.published = versionId;
      thing.deleted = false;
      thing.imports = imports;
    }
    return undefined;
  }

  #unseen(items: readonly Item[], seen: ReadonlySet<string>): Refused {
    const fresh = new Set(items.map(({ thing }) => thing));
    const used = items.flatMap(({ imports }) => imports.map((name) => this.library(name)));
    const unseen = used.some((it) => it && !fresh.has(it) && !seen.has(it.published ?? ""));
    return unseen ? "stale" : undefined;
  }

  #untested(items: readonly Item[], tested: ReadonlySet<string>): Refused {
    const fresh = new Set(items.map(({ thing }) => thing));
    const reached = new Set(items.map(({ thing }) => thing).filter((it) => it.kind === "library"));
    for (const library of reached) {
      for (const importer of this.importers(library)) {
        if (!fresh.has(importer) && !tested.has(importer.published ?? "")) return "stale";
        reached.add(importer);
      }
    }
    return undefined;
  }
}
