import type { CodeKind, Revision } from "../../src/catalog/model.ts";
import type { Model, Refused, Thing } from "../catalog/model.ts";
import type { Answer, CodeRequest, Group, Outcome, Written } from "./group.ts";

/** Rules of calls on transformations and libraries, as an API client sees them. */

type Verb<V extends CodeRequest["verb"]> = CodeRequest & { verb: V };
type Item = Verb<"publish">["items"][number];

/** Import name of all libraries of a group, so that they conflict. */
const IMPORT_NAME = "it";
export const IMPORTS = " imports";

const refused = (...refusals: Answer["outcome"][]): Outcome => ({ refusals });
const find = ({ things }: Model, id: string) => things.find((it) => it.id === id);

/** Applies a new revision, or a publish of several; atomic. */
export function written(state: Group, request: Written | Verb<"publish">): Outcome {
  const code = state.code.copy();
  let seen: string[] | undefined;
  if (request.verb !== "publish") {
    const revision = revisionOf(code, request);
    if (revision === undefined) return refused("missing");
    const missing = code.add(revision);
    if (missing !== undefined) return refused(missing);
    seen = [shownRevision(revision)];
  }
  const items = request.verb === "publish" ? request.items : request.publishes ? [request] : [];
  const refusals = published(code, state, items, request.verb !== "publish");
  const links = request.verb !== "publish" && request.publishes ? request.links : [];
  for (const destination of links) {
    if (!state.destinations.has(destination)) refusals.push("missing");
    else if (refusals.length === 0) code.link(find(code, (request as Written).thing)!, destination);
  }
  if (refusals.length > 0) return refused(...refusals);
  const past = state.past.union(new Set(items.map(({ version }) => version)));
  return { refusals, next: { ...state, code, past }, ...(seen && { seen }) };
}

/**
 * Builds a revision from the request, and from the newest one where the request changes nothing.
 */
function revisionOf(code: Model, request: Written): Revision | undefined {
  const { kind, thing, version, describes } = request;
  const before = find(code, thing)?.versions.at(-1);
  if (request.verb === "revise" && before === undefined) return undefined;
  const { imports } = request.code ?? {};
  return {
    ...{ kind, id: thing, workspaceId: "", versionId: version, language: "javascript" },
    ...{ name: "", createdAt: 0, ...(kind === "library" && { importName: IMPORT_NAME }) },
    code: imports === undefined ? (before?.code ?? "") : `${version}${imports ? IMPORTS : ""}`,
    description: describes ? version : (before?.description ?? ""),
  };
}

/**
 * Applies a publish, or lists every possible rejection, since the server's order of checks is open.
 */
function published(
  code: Model,
  { past }: Group,
  items: readonly Item[],
  isOne: boolean,
): Answer["outcome"][] {
  const refusals: Answer["outcome"][] = [];
  const all = items.flatMap(({ thing: id, version }) => {
    const thing = find(code, id);
    const revision = thing?.versions.find((it) => it.versionId === version);
    if (thing === undefined || revision === undefined) return [];
    const imports = revision.code.endsWith(IMPORTS) ? [IMPORT_NAME] : [];
    return [{ thing, versionId: version, imports }];
  });
  if (all.length < items.length) return ["missing"];
  const isThere =
    items.some(({ kind }) => kind === "library") || code.library(IMPORT_NAME) !== undefined;
  const lacks = all.filter((it) => it.imports.length > 0 && !isThere);
  if (lacks.some((it) => isOne || !past.has(it.versionId))) refusals.push("invalid");
  // A publish during a check repeats the check.
  const checked = new Set(code.things.flatMap((it) => it.published ?? []));
  const conflict = code.publish(all, checked);
  if (conflict !== undefined) refusals.push(conflict);
  return refusals;
}

export function turned(state: Group, request: Verb<"link" | "link at" | "unlink">): Outcome {
  const code = state.code.copy();
  const thing = find(code, request.thing);
  const refusals: NonNullable<Refused>[] = [];
  if (!state.destinations.has(request.destination)) refusals.push("missing");
  const verb = request.verb === "unlink" ? "unlink" : "link";
  const why = thing === undefined ? "missing" : code[verb](thing, request.destination);
  if (why !== undefined) refusals.push(why);
  return refusals.length > 0 ? refused(...refusals) : { refusals, next: { ...state, code } };
}

export function cleared(state: Group, destination: string): Outcome {
  if (!state.destinations.has(destination)) return refused("missing");
  if (!state.code.links.has(destination)) return { refusals: [] };
  const code = state.code.copy();
  code.links.delete(destination);
  return { refusals: [], next: { ...state, code } };
}

export function removed(state: Group, id: string): Outcome {
  const code = state.code.copy();
  const thing = find(code, id);
  const why = thing === undefined ? "missing" : code.remove(thing);
  return why === undefined ? { refusals: [], next: { ...state, code } } : refused(why);
}

export function read({ code }: Group, { thing: id, what }: Verb<"read">): Outcome {
  const thing = find(code, id);
  if (thing === undefined) return refused("missing");
  if (what === "versions") {
    const seen = thing.versions.map((it) => `${shownRevision(it)}${liveMark(thing, it)}`);
    return { refusals: [], seen };
  }
  if (thing.deleted || (what === "published" && thing.published === undefined)) {
    return refused("missing");
  }
  return { refusals: [], seen: [shown(code, thing, what)] };
}

export function listed({ code }: Group, { kind, what }: Verb<"list">): string[] {
  const isIn = (thing: Thing) =>
    what === "published" ? thing.published !== undefined : !thing.published && !thing.deleted;
  const found = code.things.filter((it) => it.kind === kind && isIn(it));
  return found.map((it) => shown(code, it, what === "published" ? what : "newest")).sort();
}

function shown(code: Model, thing: Thing, what: "published" | "newest"): string {
  const revision =
    what === "newest"
      ? thing.versions.at(-1)!
      : thing.versions.find((it) => it.versionId === thing.published)!;
  const linked = [...code.links].flatMap(([to, from]) => (from === thing ? [to] : []));
  return shownThing(thing, shownRevision(revision) + liveMark(thing, revision), linked);
}

const liveMark = ({ published }: Thing, { versionId }: Revision) =>
  published === versionId ? LIVE : "";
export const LIVE = ", live";

export const shownThing = (
  { kind, id }: { kind: CodeKind; id: string },
  revision: string,
  linked: readonly string[],
) => `${id}: ${revision}${kind === "library" ? "" : ` for ${linked.toSorted().join(" ")}`}`;

export const shownRevision = ({
  versionId,
  code,
  description,
}: Pick<Revision, "versionId" | "code" | "description">) =>
  `version ${versionId} code ${code} described ${description}`;
