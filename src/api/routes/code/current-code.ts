import type { CodeKind, Resource, Revision } from "../../../catalog/model.ts";
import { unlessMissing } from "../../../errors.ts";
import { authorOf } from "../../author.ts";
import { type CurrentResource, hashOfState, Tagged } from "../../entity-tag.ts";
import type { ResourceCall } from "../../route.ts";
import { isoTime } from "../../schema/common.ts";
import { type CodeDeps, libraryAnswer, transformationAnswer } from "./revision-answers.ts";

const answers = { library: libraryAnswer, transformation: transformationAnswer };

/**
 * Adds an entity tag to an answer about a transformation or library: the newest revision's
 * versionId, and a hash of what can change without a new revision (published revision, note,
 * external id and linked destinations).
 */
export function taggedCode<T>({ catalog }: CodeDeps, resource: Resource, answer: T): Tagged<T> {
  const { workspaceId, kind, id, newest, published, externalId, note } = resource;
  const destinations =
    kind === "library"
      ? []
      : catalog.code
          .linkedDestinations(workspaceId, id)
          .map(({ id, name, enabled }) => [id, name, enabled]);
  return new Tagged(
    answer,
    `${newest}.${hashOfState([published, externalId, destinations, note])}`,
  );
}

/**
 * Returns a function that finds the transformation or library that a request's path names, with its
 * current entity tag.
 */
export function currentCode(kind: CodeKind) {
  return ({ deps, workspaceId, params }: ResourceCall<"/{id}", unknown>): CurrentResource[] => [
    codeState(deps, workspaceId, kind, params.id),
  ];
}

/**
 * Returns the current states of the transformations and libraries whose revisions a publish request
 * lists. Returns an empty list if one of them is deleted, so that a request with If-Match fails.
 */
export function namedCode(
  deps: CodeDeps,
  workspaceId: string,
  named: { kind: CodeKind; versionId: string }[],
): CurrentResource[] {
  const { code } = deps.catalog;
  const revisions = named.map(({ kind, versionId }) =>
    code.revisionByVersion(workspaceId, kind, versionId),
  );
  const isDeleted = ({ kind, id }: Revision) => code.resource(workspaceId, kind, id).deleted;
  if (revisions.some(isDeleted)) return [];
  return revisions.map(({ kind, id }) => codeState(deps, workspaceId, kind, id));
}

function codeState(
  deps: CodeDeps,
  workspaceId: string,
  kind: CodeKind,
  id: string,
): CurrentResource {
  const found = deps.catalog.code.newestRevision(workspaceId, kind, id);
  const { resource, revision } = found;
  return {
    now: taggedCode(deps, resource, answers[kind](deps, found)),
    changeSince(tags) {
      if (tags.some((tag) => tag.startsWith(`${resource.newest}.`))) {
        return `the ${kind} has changed without a new revision, for example by a publication`;
      }
      const author = authorName(deps, revision);
      return `${author} saved another revision at ${isoTime(revision.createdAt)}`;
    },
    earlier(tags) {
      const [known] = tags.flatMap((tag) => revisionOfTag(deps, resource, tag) ?? []);
      return known && answers[kind](deps, { resource, revision: known });
    },
  };
}

/**
 * Returns the revision that was the newest when the resource had the entity tag `tag`. Undefined if
 * there is none.
 */
function revisionOfTag({ catalog }: CodeDeps, resource: Resource, tag: string) {
  const { workspaceId, kind, id } = resource;
  const [versionId = ""] = tag.split(".", 1);
  return unlessMissing(() => catalog.code.revision(workspaceId, kind, id, versionId));
}

/** Returns the name of the member or token that saved a revision, for an error message. */
function authorName({ catalog }: CodeDeps, { workspaceId, createdBy }: Revision): string {
  const { name = "" } = createdBy ? authorOf({ catalog }, { workspaceId, ...createdBy }) : {};
  return name.replace(/\p{C}/gu, "") || "another user";
}
