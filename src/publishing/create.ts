import type { Catalog, CodeChange, Found, RevisionInput } from "../catalog/catalog.ts";
import type { Revision } from "../catalog/model.ts";
import { Stale } from "../catalog/refusals.ts";
import { ApiError } from "../errors.ts";
import { PUBLISH_ATTEMPTS_MAX } from "../limits.ts";
import type { Sandbox } from "../sandbox/program.ts";
import { suiteOf } from "./checks.ts";
import { detailsOf, failuresOf } from "./failures.ts";
import type {
  CreateInput,
  Publishing,
  PublishResult,
  Selection,
  UpdateInput,
} from "./publishing.ts";
import { checkPublishable, selected } from "./selection.ts";
import { testResult } from "./test-result.ts";
import { createTests, type Testing } from "./testing.ts";
import { type Trial, type Trialed, tryOut } from "./trial.ts";
import { createTurns } from "./turns.ts";
import { validationOf } from "./validation.ts";

export function createPublishing(parts: { catalog: Catalog; sandbox: Sandbox }): Publishing {
  const { catalog } = parts;
  const tests = createTests(parts);
  const inTurn = createTurns();

  async function store(
    revision: Revision,
    input: CreateInput | UpdateInput,
    externalIds: CodeChange["externalIds"] = [],
  ): Promise<Found> {
    const { workspaceId, kind, id } = revision;
    const change = { revisions: [revision], publish: [], links: [], seen: [], externalIds };
    if (input.publish) {
      const destinationIds = kind === "transformation" ? (input.destinationIds ?? []) : [];
      // Unknown ones are refused before any code runs.
      for (const destinationId of destinationIds) {
        catalog.destinations.get(workspaceId, destinationId);
      }
      const links = destinationIds.map((destinationId) => ({
        transformationId: id,
        destinationId,
      }));
      await tests(workspaceId, input.caller, (testing) =>
        publishOne(testing, revision, input.events, { ...change, links }),
      );
    } else {
      await catalog.code.commit(workspaceId, change);
    }
    return { resource: catalog.code.resource(workspaceId, kind, id), revision };
  }

  async function publishOne(
    testing: Testing,
    revision: Revision,
    events: UpdateInput["events"],
    change: CodeChange,
  ): Promise<void> {
    const { workspaceId, versionId } = revision;
    const code: Trial =
      revision.kind === "library"
        ? { transformations: [], libraries: [revision], withImporters: true }
        : {
            transformations: [{ revision, suites: [suiteOf(events)] }],
            libraries: [],
            withImporters: false,
          };
    await untilFresh(async () => {
      checkPublishable(catalog, workspaceId, code.libraries);
      const trialed = await tryOut(testing, workspaceId, code);
      const failures = failuresOf(trialed);
      if (failures.length > 0) {
        const details = detailsOf(failures, versionId);
        throw new ApiError("invalid", "The code does not pass its tests", details);
      }
      await catalog.code.commit(workspaceId, { ...change, ...publication(trialed) });
    });
  }

  async function publishSelected(
    testing: Testing,
    workspaceId: string,
    selection: Selection,
  ): Promise<PublishResult> {
    const code = selected(catalog, workspaceId, selection);
    checkPublishable(catalog, workspaceId, code.libraries);
    const trialed = await tryOut(testing, workspaceId, { ...code, withImporters: true });
    const { message, validationOutput } = validationOf(catalog, trialed);
    if (message !== undefined) return { published: false, message, validationOutput };
    const nothing = { revisions: [], links: [] };
    await catalog.code.commit(workspaceId, { ...nothing, ...publication(trialed) });
    return { published: true };
  }

  function tried(workspaceId: string, selection: Selection): Promise<Trialed> {
    const code = selected(catalog, workspaceId, selection);
    return tests(workspaceId, selection.caller, (testing) =>
      tryOut(testing, workspaceId, { ...code, withImporters: false }),
    );
  }

  return {
    create(workspaceId, kind, input) {
      const { externalId } = input;
      const revision = catalog.code.draft(workspaceId, kind, input);
      const externalIds = externalId === undefined ? [] : [{ kind, id: revision.id, externalId }];
      return store(revision, input, externalIds);
    },

    update(workspaceId, kind, id, input) {
      return inTurn(id, async () => {
        return store(catalog.code.amend(workspaceId, kind, id, changesOf(input)), input);
      });
    },

    publish(workspaceId, selection) {
      return tests(workspaceId, selection.caller, (testing) =>
        untilFresh(() => publishSelected(testing, workspaceId, selection)),
      );
    },

    async test(workspaceId, selection) {
      return testResult(await tried(workspaceId, selection));
    },

    async runSuites(workspaceId, selection) {
      return validationOf(catalog, await tried(workspaceId, selection));
    },
  };
}

/** Tests again when published code changed between the check and the commit. */
async function untilFresh<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = PUBLISH_ATTEMPTS_MAX - 1; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Stale) || left === 0) throw error;
    }
  }
}

/** What a trial that passed lets the catalog publish. */
function publication(trialed: Trialed): Pick<CodeChange, "publish" | "seen" | "tested"> {
  const { libraries, transformations, seen, tested } = trialed;
  const importers = new Set(tested.map(({ versionId }) => versionId));
  const named = [...libraries, ...transformations].filter(
    ({ revision }) => !importers.has(revision.versionId),
  );
  const publish = named.map(({ revision: { kind, id, versionId }, imports }) => {
    return { kind, id, versionId, imports };
  });
  return { publish, seen, tested };
}

function changesOf(input: UpdateInput): Partial<RevisionInput> {
  const { name, description, code, language, createdBy } = input;
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(code !== undefined && { code }),
    ...(language !== undefined && { language }),
    ...(createdBy && { createdBy }),
  };
}
