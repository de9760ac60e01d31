import type { CodeKind } from "../../src/catalog/model.ts";
import type { Answer as HttpAnswer } from "../crash/node.ts";
import { IMPORTS, LIVE, shownRevision, shownThing } from "./code-calls.ts";
import type { Answer, Plain, Request, Written } from "./group.ts";

/** Ids that the server assigned to the items of all groups, by the name that a client chose. */
export class Names {
  readonly ids = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly versionIds = new Map<string, string>();

  learn(name: string, id: string): void {
    this.ids.set(name, id);
    this.#names.set(id, name);
  }

  nameOf(id: string): string {
    return this.#names.get(id) ?? `unknown ${id}`;
  }

  /** Learns the names of items of all groups from a list of the server. */
  learnAll(items: any[]): void {
    for (const item of items) if (item.externalId) this.learn(nameIn(item), item.id);
  }

  /** Returns a text of an answer with the names of ids that were unknown when it was read. */
  resolved(seen: string): string {
    return seen.replaceAll(/unknown (\S+)/g, (_, id: string) => this.nameOf(id));
  }
}

export interface HttpCall {
  method: string;
  path: string;
  body?: object;
}

const paths = { transformation: "/transformations", library: "/libraries" } as const;
const envelopes = { transformation: "transformations", library: "libraries" } as const;
const versionsOf = {
  transformation: "TransformationVersions",
  library: "libraryVersions",
} as const;
/** Page size for revisions, larger than any item's number of revisions. */
const VERSIONS = 1_000;

/** Converts a call to its HTTP request. */
export function httpCall(request: Request, group: string, { ids, versionIds }: Names): HttpCall {
  const id = (name: string) => ids.get(name)!;
  switch (request.verb) {
    case "create":
    case "revise": {
      const to = request.verb === "create" ? "" : `/${id(request.thing)}`;
      const path = `${paths[request.kind]}${to}?publish=${request.publishes}`;
      return { method: "POST", path, body: bodyOf(request, group, id) };
    }
    case "publish": {
      const of = (kind: CodeKind) =>
        request.items
          .filter((it) => it.kind === kind)
          .map(({ version }) => ({ versionId: versionIds.get(version)! }));
      const body = { transformations: of("transformation"), libraries: of("library") };
      return { method: "POST", path: "/libraries/publish", body };
    }
    case "link":
    case "unlink": {
      const verb = request.verb === "link" ? "connectToDestination" : "disconnectFromDestination";
      const path = `/transformations/${id(request.thing)}/${verb}`;
      return { method: "POST", path, body: { destinationId: id(request.destination) } };
    }
    case "link at": {
      const body = { transformationId: id(request.thing) };
      return { method: "PUT", path: linkPath(id(request.destination)), body };
    }
    case "clear":
      return { method: "DELETE", path: linkPath(id(request.destination)) };
    case "delete":
      return { method: "DELETE", path: `${paths[request.kind]}/${id(request.thing)}` };
    case "read": {
      const own = `${paths[request.kind]}/${id(request.thing)}`;
      const ends = {
        published: "",
        newest: "?draft=true",
        versions: `/versions?count=${VERSIONS}`,
      };
      return { method: "GET", path: own + ends[request.what] };
    }
    case "list": {
      const query = request.what === "published" ? "" : "?published=false";
      return { method: "GET", path: paths[request.kind] + query };
    }
    case "make": {
      const own = request.of === "destination" ? { type: "webhook", config: WEBHOOK } : {};
      const body = { name: request.name, externalId: `${group}/${request.thing}`, ...own };
      return { method: "POST", path: `/v2/${request.of}s`, body };
    }
    case "rename": {
      const path = `/v2/${request.of}s/${id(request.thing)}`;
      return { method: "PUT", path, body: { name: request.name } };
    }
    case "connect": {
      const ends = { sourceId: id(request.source), destinationId: id(request.destination) };
      const body = { ...ends, externalId: `${group}/${request.thing}` };
      return { method: "POST", path: "/v2/connections", body };
    }
    case "drop":
      return { method: "DELETE", path: `/v2/${request.of}s/${id(request.thing)}` };
    case "get":
      return { method: "GET", path: `/v2/${request.of}s/${id(request.thing)}` };
    case "all":
      return { method: "GET", path: `/v2/${request.of}s` };
  }
}

/** Webhook configuration without a receiver: no pixel has the write keys of these sources. */
const WEBHOOK = { webhookUrl: "http://127.0.0.1:9/" };
const linkPath = (destinationId: string) => `/v2/destinations/${destinationId}/transformation`;
const libraryName = (group: string) => `it ${group}`;
/** Import name that the server derives from a library's name. */
const importName = (group: string) => `it${group[0]!.toUpperCase()}${group.slice(1)}`;

function bodyOf(request: Written, group: string, id: (name: string) => string): object {
  const { kind, version, code, describes, links } = request;
  const imports = code?.imports ? `import { value } from "${importName(group)}";\n` : "";
  const rest =
    kind === "library"
      ? "export const value = 1;\n"
      : `${imports}export const transformEvent = (event) => event;\n`;
  return {
    name: kind === "library" ? libraryName(group) : version,
    language: "javascript",
    ...(code && { code: `// ${version}${code.imports ? IMPORTS : ""}\n${rest}` }),
    ...(describes && { description: version }),
    ...(request.verb === "create" && { externalId: `${group}/${request.thing}` }),
    ...(kind === "transformation" && { destinationIds: links.map(id) }),
  };
}

/** Parses a response; returns undefined if it leaves the outcome of the call open. */
export function answerOf(
  request: Request,
  group: string,
  names: Names,
  { status, body }: HttpAnswer,
): Answer | undefined {
  switch (status) {
    case 200:
    case 201:
    case 204: {
      const seen = seenIn(request, group, names, body);
      if (seen === "a part") return undefined;
      return { outcome: "done", ...(seen && { seen }) };
    }
    case 400:
      return { outcome: "invalid" };
    case 404:
      return { outcome: "missing" };
    case 409:
    case 429:
    case 503: {
      const isUntried = status === 429 || /send the request again/.test(body?.message);
      if (isUntried) return { outcome: "untried" };
      return status === 409 ? { outcome: "conflict" } : undefined;
    }
    case 0:
      return undefined;
    default:
      throw new Error(`${request.verb} is answered ${status}: ${JSON.stringify(body)}`);
  }
}

function seenIn(
  request: Request,
  group: string,
  names: Names,
  body: any,
): string[] | "a part" | undefined {
  switch (request.verb) {
    case "create":
    case "revise":
      learn(request.thing, body, names);
      return [revisionIn(body)];
    case "read":
      if (request.what !== "versions") return [thingIn(request.kind, body, names)];
      return body[versionsOf[request.kind]].map((it: any) => revisionIn(it) + liveIn(it));
    case "list":
      return ownIn(body[envelopes[request.kind]], group, names)
        .map((it) => thingIn(request.kind, it, names))
        .sort();
    case "make":
    case "connect": {
      const { id } = body[request.verb === "make" ? request.of : "connection"];
      names.learn(request.thing, id);
      return undefined;
    }
    case "get":
      return [shownIn(request.of, body[request.of], names)];
    case "all": {
      const items = body[`${request.of}s`];
      if (items.length < body.paging.total) return "a part";
      return ownIn(items, group, names)
        .map((it) => shownIn(request.of, it, names))
        .sort();
    }
    default:
      return undefined;
  }
}

/** Selects a group's items from a list, and learns their names. */
function ownIn(items: any[], group: string, names: Names): any[] {
  const own = items.filter(({ externalId = "" }) => externalId.startsWith(`${group}/`));
  for (const item of own) learn(nameIn(item), item, names);
  return own;
}

function learn(name: string, item: any, names: Names): void {
  names.learn(name, item.id);
  if (item.versionId !== undefined) names.versionIds.set(versionIn(item), item.versionId);
}

const nameIn = ({ externalId }: { externalId: string }) => externalId.split("/")[1]!;
const codeIn = ({ code }: { code: string }) => /^\/\/ (.*)/.exec(code)?.[1] ?? "";
const versionIn = (item: any) => (item.importName === undefined ? item.name : codeIn(item));
const liveIn = ({ isPublished }: { isPublished: boolean }) => (isPublished ? LIVE : "");

const revisionIn = (item: any) =>
  shownRevision({
    ...{ versionId: versionIn(item), code: codeIn(item), description: item.description },
  });

function thingIn(kind: CodeKind, item: any, names: Names): string {
  const linked = (item.destinations ?? []).map(({ id }: { id: string }) => names.nameOf(id));
  return shownThing({ kind, id: nameIn(item) }, revisionIn(item) + liveIn(item), linked);
}

function shownIn(of: Plain | "connection", item: any, names: Names): string {
  const name = nameIn(item);
  if (of === "source") return `${name}: ${item.name}`;
  if (of === "connection") {
    return `${name}: ${names.nameOf(item.sourceId)} to ${names.nameOf(item.destinationId)}`;
  }
  const by = item.transformation ? names.nameOf(item.transformation.id) : "nothing";
  return `${name}: ${item.name} by ${by}`;
}
