import type { CodeKind } from "../../src/catalog/model.ts";
import type { Answer, Plain, Request } from "./group.ts";

/** Most transformations, and most libraries, of a group; then a deletion precedes a creation. */
const THINGS_MAX = 5;
const PLAIN_MAX = 3;
/** Probability that a deleted item stays a target of calls. */
const GHOSTS = 0.2;

type Verb = Request["verb"];
/** Relative frequency of each verb; half of the calls are reads. */
const shares: Record<Verb, number> = {
  ...{ create: 6, revise: 9, publish: 5, delete: 4, link: 4, "link at": 4, unlink: 3, clear: 2 },
  ...{ make: 4, rename: 6, connect: 6, drop: 4, read: 24, list: 8, get: 12, all: 6 },
};
const lots = (Object.keys(shares) as Verb[]).flatMap((it) => Array<Verb>(shares[it]).fill(it));

const any = <T>(items: readonly T[]): T | undefined =>
  items[Math.floor(Math.random() * items.length)];
const chance = (share: number) => Math.random() < share;

/** Knowledge of the clients about a group, from which they choose their next calls. */
export class Board {
  readonly #versions = { transformation: new Map(), library: new Map() } as Record<
    CodeKind,
    Map<string, Set<string>>
  >;
  readonly #plain = {
    source: new Set<string>(),
    destination: new Set<string>(),
    connection: new Set<string>(),
  };

  constructor(private readonly nextName: () => string) {}

  /** Chooses a random call on known items. */
  next(): Request {
    for (;;) {
      const request = this.#choose();
      if (request !== undefined) return request;
    }
  }

  /** Calls that delete all known items. */
  deletions(): Request[] {
    const kinds: CodeKind[] = ["transformation", "library"];
    const of = ["connection", "source", "destination"] as const;
    return [
      ...kinds.flatMap((kind) =>
        [...this.#versions[kind].keys()].map((thing) => ({ verb: "delete", kind, thing }) as const),
      ),
      ...of.flatMap((it) =>
        [...this.#plain[it]].map((thing) => ({ verb: "drop", of: it, thing }) as const),
      ),
    ];
  }

  take(request: Request, { outcome }: Answer): void {
    if (outcome !== "done") return;
    switch (request.verb) {
      case "create":
        this.#versions[request.kind].set(request.thing, new Set([request.version]));
        break;
      case "revise":
        this.#versions[request.kind].get(request.thing)?.add(request.version);
        break;
      case "make":
        this.#plain[request.of].add(request.thing);
        break;
      case "connect":
        this.#plain.connection.add(request.thing);
        break;
      case "delete":
        if (!chance(GHOSTS)) this.#versions[request.kind].delete(request.thing);
        break;
      case "drop":
        if (!chance(GHOSTS)) this.#plain[request.of].delete(request.thing);
        break;
    }
  }

  #choose(): Request | undefined {
    const verb = any(lots)!;
    const kind: CodeKind = chance(0.6) ? "transformation" : "library";
    const of: Plain = chance(0.5) ? "source" : "destination";
    return this.#codeCall(verb, kind) ?? this.#plainCall(verb, of);
  }

  #codeCall(verb: Verb, kind: CodeKind): Request | undefined {
    const thing = any([...this.#versions[kind].keys()]);
    const transformation = any([...this.#versions.transformation.keys()]);
    const destination = any([...this.#plain.destination]);
    const isLinked = kind === "transformation" && destination !== undefined && chance(0.3);
    const links = isLinked ? [destination] : [];
    switch (verb) {
      case "create":
        return this.#created(kind, this.nextName(), links);
      case "revise":
        return thing === undefined ? thing : revised(kind, thing, this.nextName(), links);
      case "publish":
        return this.#published();
      case "link":
      case "link at":
      case "unlink":
        if (transformation === undefined || destination === undefined) return undefined;
        return { verb, thing: transformation, destination };
      case "clear":
        return destination === undefined ? destination : { verb, destination };
      case "delete":
        return thing === undefined ? thing : { verb, kind, thing };
      case "read":
        if (thing === undefined) return undefined;
        return { verb, kind, thing, what: any(["published", "newest", "versions"])! };
      case "list":
        return { verb, kind, what: any(["published", "drafts"])! };
      default:
        return undefined;
    }
  }

  #plainCall(verb: Verb, of: Plain): Request | undefined {
    const part = any([of, "connection"] as const)!;
    const thing = any([...this.#plain[of]]);
    const either = any([...this.#plain[part]]);
    const [source, destination] = [any([...this.#plain.source]), any([...this.#plain.destination])];
    switch (verb) {
      case "make":
        return this.#made(of, this.nextName());
      case "rename":
        return thing === undefined ? thing : { verb, of, thing, name: this.nextName() };
      case "connect":
        if (source === undefined || destination === undefined) return undefined;
        return { verb, thing: this.nextName(), source, destination };
      case "drop":
      case "get":
        return either === undefined ? either : { verb, of: part, thing: either };
      case "all":
        return { verb, of: part };
      default:
        return undefined;
    }
  }

  #created(kind: CodeKind, name: string, links: string[]): Request | undefined {
    if (this.#versions[kind].size >= THINGS_MAX) return undefined;
    const publishes = chance(0.6);
    const code = { imports: kind === "transformation" && chance(0.4) };
    const rest = { publishes, code, describes: true, links };
    return { verb: "create", kind, thing: name, version: name, ...rest };
  }

  #made(of: Plain, name: string): Request | undefined {
    if (this.#plain[of].size >= PLAIN_MAX) return undefined;
    return { verb: "make", of, thing: name, name };
  }

  /** Publish of one version of one or several items. */
  #published(): Request | undefined {
    const all = (["transformation", "library"] as const).flatMap((kind) =>
      [...this.#versions[kind]].map(([thing, versions]) => ({ kind, thing, versions })),
    );
    const items = all
      .filter(({ kind }) => chance(kind === "library" ? 0.3 : 0.5))
      .map(({ versions, ...it }) => ({ ...it, version: any([...versions])! }));
    // The libraries of a group share one import name, so a publish can contain only one.
    const libraries = items.filter(({ kind }) => kind === "library");
    return items.length === 0 || libraries.length > 1 ? undefined : { verb: "publish", items };
  }
}

function revised(kind: CodeKind, thing: string, version: string, links: string[]): Request {
  const part = kind === "library" ? "code" : any(["code", "description", "both"])!;
  return {
    ...{ verb: "revise", kind, thing, version, publishes: chance(0.4), links },
    ...(part !== "description" && { code: { imports: kind !== "library" && chance(0.4) } }),
    describes: part !== "code",
  };
}
