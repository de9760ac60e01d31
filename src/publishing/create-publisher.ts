import type { Catalog } from "../catalog/catalog.ts";
import type { CodeChange, RevisionInput } from "../catalog/code/code-changes.ts";
import { PublicationConflict, RevisionConflict } from "../catalog/code-errors.ts";
import type { CodeKind, Revision } from "../catalog/model.ts";
import { withTimeLimit } from "../concurrency/time-limit.ts";
import { defined } from "../defined.ts";
import { ApiError } from "../errors.ts";
import type { Sandbox } from "../sandbox/guest-sandbox.ts";
import { checkPublishable, eventsIn, planSelection } from "./code-selection.ts";
import { planDraftRun, toDraftRunResult } from "./draft-run.ts";
import { warningsOf } from "./publish-warnings.ts";
import type {
  CodeSelection,
  CreateCodeInput,
  DraftRunInput,
  PublishResult,
  StoredCode,
  UpdateCodeInput,
} from "./publisher.ts";
import { toTestResult } from "./test-result.ts";
import { runTests } from "./testing/run-tests.ts";
import { suitesOf } from "./testing/test-code.ts";
import { createTests, type TestContext } from "./testing/test-context.ts";
import { detailsOf, failuresOf } from "./testing/test-failures.ts";
import type { CodeTestReport, TestRunPlan } from "./testing/test-run.ts";
import { createUpdateTurns } from "./update-turns.ts";
import { toValidationResult } from "./validation-result.ts";

/**
 * Maximum number of attempts at one request. A request is attempted again when another request has
 * changed the same code during the attempt.
 */
export const PUBLISH_ATTEMPTS_MAX = 5;

/**
 * Maximum milliseconds from the end of a request's tests until its change is stored. After that,
 * the request fails, although the change may still be stored.
 */
const COMMIT_MS_MAX = 10_000;

const lateCommit = () =>
  new ApiError(
    "unavailable",
    `The code was not stored within ${COMMIT_MS_MAX / 1_000} s. It may still be; read the state before you repeat the request`,
  );

/**
 * Tests and publishes revisions (immutable versions) of transformations and libraries. Refused
 * requests throw `ApiError`. When the caller hangs up, the tests of its request end and nothing is
 * published.
 */
export type Publisher = ReturnType<typeof createPublisher>;

interface PublisherParts {
  catalog: Catalog;
  sandbox: Sandbox;
  /** Value that pixelmill's own tests use instead of `COMMIT_MS_MAX`. */
  commitMsMax?: number;
}

export function createPublisher(parts: PublisherParts) {
  const { catalog, commitMsMax = COMMIT_MS_MAX } = parts;
  const tests = createTests(parts);
  const inTurn = createUpdateTurns();

  /**
   * Commits a change to the catalog. Rejects with `unavailable` when the commit takes longer than
   * `commitMsMax`; the change may then still be stored.
   */
  function commit<T = void>(workspaceId: string, change: CodeChange, read?: () => T): Promise<T> {
    const committed = catalog.code.commit(workspaceId, change, read as () => T);
    return withTimeLimit(committed, commitMsMax, lateCommit);
  }

  async function store(
    revision: Revision,
    input: CreateCodeInput | UpdateCodeInput,
    more: Pick<CodeChange, "externalIds" | "basedOn">,
  ): Promise<StoredCode> {
    const { workspaceId, kind, id, versionId } = revision;
    const events = input.events?.length ? [{ versionId, events: input.events }] : [];
    const destinationIds =
      input.publish && kind === "transformation" ? (input.destinationIds ?? []) : [];
    const change = {
      revisions: [revision],
      publish: [],
      links: destinationIds.map((destinationId) => ({ transformationId: id, destinationId })),
      usedLibraries: [],
      events,
      ...noteOf(input),
      ...more,
    };
    const stored = () => catalog.code.resource(workspaceId, kind, id);
    if (!input.publish) {
      const resource = await commit(workspaceId, change, stored);
      return { resource, revision, warnings: [] };
    }
    // Unknown destinations are refused before any code runs.
    expectExisting(workspaceId, change);
    const isLibrary = kind === "library";
    const code: TestRunPlan = {
      transformations: isLibrary ? [] : [{ revision, suites: suitesOf(input.events) }],
      libraries: isLibrary ? [revision] : [],
      withImporters: isLibrary,
    };
    const publish = async (context: TestContext) => {
      checkPublishable(catalog, workspaceId, code.libraries);
      const testRun = await runTests(context, workspaceId, code);
      const failures = failuresOf(testRun);
      if (failures.length > 0) {
        // If the code was deleted during the tests, the caller gets that error instead.
        expectExisting(workspaceId, change);
        const details = detailsOf(failures, versionId);
        throw new ApiError("invalid", "The code does not pass its tests", details);
      }
      const resource = await commit(workspaceId, { ...change, ...publication(testRun) }, stored);
      return { resource, revision, warnings: warningsOf(testRun) };
    };
    return tests(workspaceId, input.caller, (context) =>
      retryOn(PublicationConflict, () => publish(context)),
    );
  }

  function expectExisting(workspaceId: string, change: CodeChange): void {
    catalog.code.expectNewest(workspaceId, change);
    for (const { destinationId } of change.links) {
      catalog.destinations.get(workspaceId, destinationId);
    }
  }

  async function publishSelected(
    context: TestContext,
    workspaceId: string,
    selection: CodeSelection,
  ): Promise<PublishResult> {
    const eventsOf = (revision: Revision) => catalog.code.history(revision).events;
    const { libraries, transformations } = planSelection(catalog, workspaceId, selection, eventsOf);
    checkPublishable(catalog, workspaceId, libraries);
    const testRun = await runTests(context, workspaceId, {
      libraries,
      transformations: transformations.map((item, index) => {
        const hasEvents = eventsIn(selection.transformations[index]!).length > 0;
        return { ...item, isImporter: !hasEvents && isLive(item.revision) };
      }),
      withImporters: true,
    });
    const { message, validationOutput } = toValidationResult(catalog, testRun);
    const named = [...libraries, ...transformations.map(({ revision }) => revision)];
    // A rollback must always work. After any other publication, all live code must work.
    const isRollback = named.every((it) => catalog.code.history(it).imports !== undefined);
    if (message !== undefined && !isRollback) {
      return { published: false, message, validationOutput };
    }
    const events = selection.transformations
      .map((item) => ({ versionId: item.versionId, events: eventsIn(item) }))
      .filter((item) => item.events.length > 0);
    const change = { revisions: [], links: [], events, ...noteOf(selection) };
    await commit(workspaceId, { ...change, ...publication(testRun) });
    const warnings = warningsOf(testRun);
    return { published: true, ...(warnings.length > 0 && { warnings }) };
  }

  function isLive({ workspaceId, kind, id, versionId }: Revision): boolean {
    return catalog.code.resource(workspaceId, kind, id).published === versionId;
  }

  function testSelection(workspaceId: string, selection: CodeSelection): Promise<CodeTestReport> {
    const code = planSelection(catalog, workspaceId, selection);
    return tests(workspaceId, selection.caller, (context) =>
      runTests(context, workspaceId, { ...code, withImporters: false }),
    );
  }

  return {
    /**
     * Creates a transformation or library. With `publish`, the code is tested first; if a test
     * fails, throws `ApiError` (`invalid`, with `details`) and stores nothing.
     */
    create(workspaceId: string, kind: CodeKind, input: CreateCodeInput) {
      const { externalId } = input;
      const revision = catalog.code.draft(workspaceId, kind, input);
      const externalIds = externalId === undefined ? [] : [{ kind, id: revision.id, externalId }];
      return store(revision, input, { externalIds });
    },

    /**
     * Adds a revision to a transformation or library. A field that is absent in `input` keeps its
     * value. With `publish`, the revision is tested first; if a test fails, throws `ApiError` and
     * stores nothing.
     */
    update(workspaceId: string, kind: CodeKind, id: string, input: UpdateCodeInput) {
      const attempt = async () => {
        const { newest } = catalog.code.resource(workspaceId, kind, id);
        const revision = catalog.code.revise(workspaceId, kind, id, changesOf(input));
        return store(revision, input, { basedOn: [{ kind, id, versionId: newest }] });
      };
      const { caller } = input;
      return inTurn({ workspaceId, id, ...defined({ caller }) }, () =>
        retryOn(RevisionConflict, attempt),
      );
    },

    /**
     * Publishes the selected versions, all or none. If a version fails its tests, or breaks
     * published code that imports it, nothing is published: the result has `published: false` and
     * the failures. In a rollback (every version was published before), failures are only warnings.
     */
    publish(workspaceId: string, selection: CodeSelection) {
      return tests(workspaceId, selection.caller, (context) =>
        retryOn(PublicationConflict, () => publishSelected(context, workspaceId, selection)),
      );
    },

    /** Answers `POST /transformations/libraries/test`: tests versions without publishing them. */
    async test(workspaceId: string, selection: CodeSelection) {
      return toTestResult(await testSelection(workspaceId, selection));
    },

    /** Answers `POST /transformations/tests/run`: tests the selected code and lists all results. */
    async runSuites(workspaceId: string, selection: CodeSelection) {
      return toValidationResult(catalog, await testSelection(workspaceId, selection));
    },

    /** Runs drafts, which are code that is not stored, on test events. */
    async run(workspaceId: string, input: DraftRunInput) {
      const code = planDraftRun(catalog, workspaceId, input);
      return tests(workspaceId, input.caller, async (context) =>
        toDraftRunResult(await runTests(context, workspaceId, code)),
      );
    },
  };
}

/**
 * Calls `attempt`. Calls it again when it throws an error of the class `refusal`, which means that
 * another request has changed the same code during the attempt. After `PUBLISH_ATTEMPTS_MAX`
 * attempts, throws the last error.
 */
async function retryOn<T>(
  refusal: typeof PublicationConflict | typeof RevisionConflict,
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

/**
 * Returns fields of a catalog change that publishes code.
 * - `publish`: the tested code of the request
 * - `testedImporters`: published code that was tested only because it imports a library of the
 *   request
 * - `usedLibraries`: published libraries that the tests used
 */
function publication(
  testRun: CodeTestReport,
): Pick<CodeChange, "publish" | "usedLibraries" | "testedImporters"> {
  const { libraries, transformations, seen, tested } = testRun;
  const importers = new Set(tested.map(({ versionId }) => versionId));
  const named = [...libraries, ...transformations].filter(
    ({ revision }) => !importers.has(revision.versionId),
  );
  const publish = named.map(({ revision: { kind, id, versionId }, imports }) => {
    return { kind, id, versionId, imports };
  });
  return { publish, usedLibraries: seen, testedImporters: tested };
}

/**
 * Returns the trimmed note of a request as the field `note`; an empty object when there is no note.
 */
function noteOf({ note = "" }: { note?: string }): Pick<CodeChange, "note"> {
  // Unpaired surrogates do not survive UTF-8.
  const text = note.trim().toWellFormed();
  return text === "" ? {} : { note: text };
}

function changesOf(input: UpdateCodeInput): Partial<RevisionInput> {
  const { name, description, code, language, createdBy } = input;
  return {
    ...defined({ name, description, code, language }),
    ...(createdBy && { createdBy }),
  };
}
