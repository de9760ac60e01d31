import type { Catalog, CodeChange, RevisionInput } from "../catalog/catalog.ts";
import type { Revision } from "../catalog/model.ts";
import { Overtaken, Stale } from "../catalog/refusals.ts";
import { KeyedMutex } from "../concurrency/keyed-mutex.ts";
import { ApiError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { suiteOf } from "./checks.ts";
import { detailsOf, failuresOf } from "./failures.ts";
import type {
  CreateInput,
  Publishing,
  PublishResult,
  Selection,
  Stored,
  UpdateInput,
} from "./publishing.ts";
import { runResult, written } from "./run.ts";
import { checkPublishable, eventsIn, selected } from "./selection.ts";
import { testResult } from "./test-result.ts";
import { createTests, type Testing } from "./testing.ts";
import { tryOut } from "./trial.ts";
import type { Trial, Trialed } from "./trialed.ts";
import { validationOf } from "./validation.ts";
import { excuses, warningsOf } from "./warnings.ts";

/** How often a request is tried in all because others change what it is about meanwhile. */
export const PUBLISH_ATTEMPTS_MAX = 5;

export function createPublishing(parts: { catalog: Catalog; sandbox: Sandbox }): Publishing {
  const { catalog } = parts;
  const tests = createTests(parts);
  /**
   * Changes of one resource wait for each other: otherwise many updates at the same time would amend
   * the same revision, and all but one would have to be done, and tested, again.
   */
  const byResource = new KeyedMutex();

  async function store(
    revision: Revision,
    input: CreateInput | UpdateInput,
    more: Pick<CodeChange, "externalIds" | "amends">,
  ): Promise<Stored> {
    const { workspaceId, kind, id, versionId } = revision;
    const events = input.events?.length ? [{ versionId, events: input.events }] : [];
    const change = { revisions: [revision], publish: [], links: [], seen: [], events, ...more };
    let warnings: string[] = [];
    if (input.publish) {
      const destinationIds = kind === "transformation" ? (input.destinationIds ?? []) : [];
      const links = destinationIds.map((destinationId) => ({
        transformationId: id,
        destinationId,
      }));
      // Unknown destinations are refused before any code runs.
      expectThere(workspaceId, { ...change, links });
      warnings = await tests(workspaceId, input.caller, (testing) =>
        publishOne(testing, revision, input.events, { ...change, links }),
      );
    } else {
      await catalog.code.commit(workspaceId, change);
    }
    return { resource: catalog.code.resource(workspaceId, kind, id), revision, warnings };
  }

  function expectThere(workspaceId: string, change: CodeChange): void {
    catalog.code.expectNewest(workspaceId, change);
    for (const { destinationId } of change.links) {
      catalog.destinations.get(workspaceId, destinationId);
    }
  }

  async function publishOne(
    testing: Testing,
    revision: Revision,
    events: UpdateInput["events"],
    change: CodeChange,
  ): Promise<string[]> {
    const { workspaceId, versionId } = revision;
    const code: Trial =
      revision.kind === "library"
        ? { transformations: [], libraries: [revision], withImporters: true }
        : {
            transformations: [{ revision, suites: [suiteOf(events)] }],
            libraries: [],
            withImporters: false,
          };
    return repeatedly(Stale, async () => {
      checkPublishable(catalog, workspaceId, code.libraries);
      const trialed = await tryOut(testing, workspaceId, code);
      const failures = failuresOf(trialed);
      if (failures.length > 0) {
        // What others deleted during the tests is the answer, as if the tests had come after that.
        expectThere(workspaceId, change);
        const details = detailsOf(failures, versionId);
        throw new ApiError("invalid", "The code does not pass its tests", details);
      }
      await catalog.code.commit(workspaceId, { ...change, ...publication(trialed) });
      return warningsOf(trialed);
    });
  }

  async function publishSelected(
    testing: Testing,
    workspaceId: string,
    selection: Selection,
  ): Promise<PublishResult> {
    const eventsOf = (revision: Revision) => catalog.code.past(revision).events;
    const code = selected(catalog, workspaceId, selection, eventsOf);
    checkPublishable(catalog, workspaceId, code.libraries);
    const trialed = await tryOut(testing, workspaceId, { ...code, withImporters: true });
    const { message, validationOutput } = validationOf(catalog, trialed);
    const { libraries, transformations } = validationOutput;
    const failed = [...libraries, ...transformations].filter(({ pass }) => !pass);
    const excused = excuses(catalog, trialed);
    if (message !== undefined && !failed.every(({ versionId }) => excused(versionId))) {
      return { published: false, message, validationOutput };
    }
    const events = selection.transformations
      .map((item) => ({ versionId: item.versionId, events: eventsIn(item) }))
      .filter((item) => item.events.length > 0);
    const change = { revisions: [], links: [], events };
    await catalog.code.commit(workspaceId, { ...change, ...publication(trialed) });
    const warnings = warningsOf(trialed);
    return { published: true, ...(warnings.length > 0 && { warnings }) };
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
      return store(revision, input, { externalIds });
    },

    update(workspaceId, kind, id, input) {
      const attempt = async () => {
        const { newest } = catalog.code.resource(workspaceId, kind, id);
        const revision = catalog.code.amend(workspaceId, kind, id, changesOf(input));
        return store(revision, input, { amends: [{ kind, id, versionId: newest }] });
      };
      return byResource.run(id, () => repeatedly(Overtaken, attempt));
    },

    publish(workspaceId, selection) {
      return tests(workspaceId, selection.caller, (testing) =>
        repeatedly(Stale, () => publishSelected(testing, workspaceId, selection)),
      );
    },

    async test(workspaceId, selection) {
      return testResult(await tried(workspaceId, selection));
    },

    async runSuites(workspaceId, selection) {
      return validationOf(catalog, await tried(workspaceId, selection));
    },

    async run(workspaceId, input) {
      const code = written(catalog, workspaceId, input);
      return tests(workspaceId, input.caller, async (testing) =>
        runResult(await tryOut(testing, workspaceId, code)),
      );
    },
  };
}

/** Runs the attempt again when it is refused because of what others have done meanwhile. */
async function repeatedly<T>(
  refusal: typeof Stale | typeof Overtaken,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let left = PUBLISH_ATTEMPTS_MAX - 1; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof refusal) || left === 0) throw error;
    }
  }
}

/** The parts of the change that publishes what a trial has passed. */
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
