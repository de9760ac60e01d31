import type { Catalog } from "../../catalog/catalog.ts";
import { familyOf } from "../../catalog/import-name.ts";
import { ConcurrencyLimiter } from "../../concurrency/concurrency-limiter.ts";
import { utf8Text } from "../../json/bytes.ts";
import { libraryCode } from "../../publishing/guest-program.ts";
import type { Sandbox } from "../../sandbox/guest-sandbox.ts";
import { type ProgramOutcome, unsharedMetadata } from "../../sandbox/program.ts";
import { SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { TestBudget } from "../../sandbox/test-budget.ts";
import { TEST_REQUESTS_OF_WORKSPACE_MAX } from "../../settings/limits.ts";
import { RequestFault, textOf } from "../requests.ts";
import { importedNames } from "./imported-names.ts";
import { languageOf, testInput, testRunInput, type UnstoredTest } from "./test-input.ts";

/**
 * Placeholder for the workspace id in tests of code that is not stored. No workspace has this id.
 */
const OWNER = "transformer";

/**
 * Answers requests of RudderStack's control plane to test code. The code is in the request, and is
 * not stored.
 */
export class CodeTests {
  readonly #limiter = new ConcurrencyLimiter({ perOwner: TEST_REQUESTS_OF_WORKSPACE_MAX });

  constructor(
    private readonly catalog: Catalog,
    private readonly sandbox: Sandbox,
  ) {}

  /**
   * Answers `POST /transformation/test`: runs code over events, and returns the output events or
   * errors, and the lines of `log(...)`.
   */
  async test(body: Record<string, unknown>): Promise<unknown> {
    return await this.#run(testInput(body), (result) =>
      "error" in result ? result : result.transformedEvent,
    );
  }

  /**
   * Answers `POST /transformation/testRun`: runs code over events like `test`, but reads other
   * fields of the body (see `testRunInput`). Each result is an object with `transformedEvent` or
   * `error`, and with the `metadata` of the input event.
   */
  async testRun(body: Record<string, unknown>): Promise<unknown> {
    return await this.#run(testRunInput(body), (result, metadata) => ({ ...result, metadata }));
  }

  /**
   * Answers `POST /transformationLibrary/test`: checks whether a library can be loaded. The
   * response is `true` for JavaScript; for Python, it is the modules that the library imports.
   */
  async testLibrary(body: Record<string, unknown>): Promise<unknown> {
    const code = textOf(body.code);
    if (code === "") throw new RequestFault("Invalid request. Missing code");
    const language = languageOf(textOf(body.language) || "javascript");
    return await this.#tests(async (budget) => {
      const library = { importName: "library", versionId: "library", code };
      const error = await this.sandbox.checkLibrary(OWNER, language, library, [], budget);
      if (error !== undefined) throw new RequestFault(error.message);
      return language === "javascript" ? true : await this.#importsOf(language, code, budget);
    });
  }

  /**
   * Answers `POST /extractLibs`: returns the modules that code imports, each with the names that
   * the code imports from it.
   */
  async extractLibs(body: Record<string, unknown>): Promise<unknown> {
    const code = textOf(body.code);
    if (code === "") throw new RequestFault("Invalid request. Code is missing");
    const language = languageOf(textOf(body.language) || "javascript");
    return await this.#tests((budget) => this.#importsOf(language, code, budget));
  }

  async #importsOf(language: UnstoredTest["language"], code: string, budget: TestBudget) {
    const { imports, error } = await this.sandbox.inspect(OWNER, language, code, budget);
    if (error !== undefined) throw new RequestFault(error.message);
    return importedNames(language, code, imports);
  }

  /**
   * Runs the code of a test on its events. Returns the lines of `log(...)`, and the results: what
   * `shown` returns for each output event and each error.
   */
  async #run(
    input: UnstoredTest,
    shown: (result: EventResult, metadata: Record<string, unknown>) => unknown,
  ): Promise<unknown> {
    const { name, code, language, credentials, events } = input;
    const libraries = this.#librariesOf(input);
    const report = await this.#tests((budget) =>
      this.sandbox.check(
        { id: OWNER, workspaceId: OWNER, language, name, code, libraries, credentials },
        {
          events: events.map(({ message }) => Buffer.from(JSON.stringify(message))),
          metadata: events.map(({ metadata }) => unsharedMetadata(metadata)),
        },
        budget,
      ),
    );
    if (report.error !== undefined) throw new RequestFault(report.error.message);
    return {
      transformedEvents: report.outcomes.flatMap((outcome, index) =>
        resultsOf(outcome).map((result) => shown(result, events[index]!.metadata)),
      ),
      logs: report.logs.map(({ text }) => text),
    };
  }

  #librariesOf({ language, libraryVersionIds }: UnstoredTest) {
    const found = libraryVersionIds.map((id) => this.catalog.code.everPublished("library", id));
    return found
      .filter((it) => it !== undefined)
      .filter((it) => familyOf(it.language) === language)
      .map(libraryCode);
  }

  async #tests<T>(work: (budget: TestBudget) => Promise<T>): Promise<T> {
    using permit = this.#limiter.tryAcquire(OWNER);
    if (permit === undefined) throw new SandboxUnavailable("Too many requests test code now");
    using budget = new TestBudget();
    return await work(budget);
  }
}

type EventResult = { error: string } | { transformedEvent: unknown };

function resultsOf(outcome: ProgramOutcome): EventResult[] {
  if ("error" in outcome) return [{ error: outcome.error.message }];
  return outcome.events.map((json) => ({ transformedEvent: JSON.parse(utf8Text(json)) }));
}
