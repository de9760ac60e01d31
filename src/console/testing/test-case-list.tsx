import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { DeleteButton, Dialog } from "../components/dialog.tsx";
import { ErrorNotice, errorMessage } from "../components/error-notice.tsx";
import { Form, TextField } from "../components/forms/fields.tsx";
import { useSave } from "../components/forms/use-save.tsx";
import { Badge } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { showToast } from "../components/toasts.ts";
import { CodeEditor } from "../editor/code-editor.tsx";
import { testCaseTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import type { JsonObject } from "./event-rows.ts";
import { parseEvents } from "./run-report.ts";
import { type SuiteResult, suiteBadge } from "./run-results.tsx";
import { type TestCase, type TestCaseInput, type TestCases, tagOf } from "./use-test-cases.ts";

/** List of a transformation's test cases with their last results, and the form to change one. */
export function TestCaseList(props: {
  testCases: TestCases;
  /** Results of the test cases in the last test run. */
  results: readonly SuiteResult[];
  /** Event for a new test case. If present, the form for a new test case opens at once with it. */
  newFrom: JsonObject | undefined;
  outputsOf: (input: JsonObject[]) => Promise<unknown[]>;
}) {
  const { testCases, results, newFrom, outputsOf } = props;
  const [edited, setEdited] = useState<Partial<TestCase> | undefined>(
    newFrom && { input: [newFrom] },
  );
  const { list = [], error } = testCases;
  return (
    <div class="stack close">
      <ErrorNotice error={error} retry={testCases.reload} />
      {testCases.list?.length === 0 && <p class="quiet">{testCaseTexts.none}</p>}
      {list.length > 0 && (
        <ul>
          {list.map((testCase) => {
            const result = results.find(({ id }) => id === testCase.id);
            const { text, tone } = suiteBadge(result);
            return (
              <li key={testCase.id} class="entry">
                <Name cut>{testCase.name}</Name>
                <span class="quiet small">{testCaseTexts.events(testCase.input.length)}</span>
                <Badge tone={tone}>{text}</Badge>
                <Button compact kind="plain" onClick={() => setEdited(testCase)}>
                  {testCaseTexts.edit}
                </Button>
                <DeleteButton
                  isIcon
                  noun={testCaseTexts.noun}
                  name={testCase.name}
                  needs="transformations:edit"
                  consequence={testCaseTexts.deleteConsequence}
                  remove={() => testCases.remove(testCase)}
                />
              </li>
            );
          })}
        </ul>
      )}
      <div class="row">
        <Button compact icon="plus" needs="transformations:edit" onClick={() => setEdited({})}>
          {testCaseTexts.add}
        </Button>
      </div>
      {edited && (
        <TestCaseForm
          testCase={edited}
          testCases={testCases}
          outputsOf={outputsOf}
          onClose={() => setEdited(undefined)}
        />
      )}
    </div>
  );
}

/** Dialog in which the user writes a test case: input events and expected outputs. */
function TestCaseForm(props: {
  /** The test case to change, or the initial content of a new test case. */
  testCase: Partial<TestCase>;
  testCases: TestCases;
  /** Runs the code in the editor on events. Rejects when an event fails. */
  outputsOf: (input: JsonObject[]) => Promise<unknown[]>;
  onClose: () => void;
}) {
  const { testCase, testCases, outputsOf, onClose } = props;
  const [name, setName] = useState(testCase.name ?? "");
  const [input, setInput] = useState(() => eventsText(testCase.input ?? []));
  const [expected, setExpected] = useState(() => jsonText(testCase.expectedOutput));
  const [error, setError] = useState<string>();
  const stored = isStored(testCase) ? testCase : undefined;
  const { save, conflict } = useSave({
    base: stored ? valuesOf({ testCase: stored }) : {},
    tag: stored && tagOf(stored),
    send: (values, tag) => testCases.save(values as unknown as TestCaseInput, testCase.id, tag),
    valuesOf,
    labelOf: (key) => labels[key] ?? key,
  });

  /**
   * Calls `use` with the input events of the form. Shows an error if the events are invalid, if
   * there are none, or if `use` rejects.
   */
  async function withInput(use: (events: JsonObject[]) => Promise<unknown>) {
    try {
      setError(undefined);
      const events = parseEvents(input);
      if (events.length === 0) throw new Error(testCaseTexts.noInput);
      await use(events);
    } catch (thrown) {
      setError(errorMessage(thrown));
    }
  }

  return (
    <Dialog
      title={testCase.id ? testCaseTexts.editTitle : testCaseTexts.addTitle}
      onClose={onClose}
      broad
    >
      <Form
        action={testCaseTexts.save}
        needs="transformations:edit"
        onCancel={onClose}
        conflict={conflict}
        onSubmit={() =>
          withInput(async (events) => {
            const expectedOutput = parseOutputs(expected);
            const { description } = testCase;
            if (!(await save({ name, description, input: events, expectedOutput }))) return;
            onClose();
            showToast(testCaseTexts.saved);
          })
        }
      >
        <TextField
          label={commonTexts.name}
          path="/name"
          value={name}
          onInput={setName}
          required
          autoFocus
        />
        <div class="columns even">
          <section class="stack close" aria-label={testCaseTexts.input}>
            <h3 class="row">{testCaseTexts.input}</h3>
            <CodeEditor
              label={testCaseTexts.inputEvents}
              language="json"
              value={input}
              onChange={setInput}
            />
            <p class="quiet small">{testCaseTexts.inputHint}</p>
          </section>
          <section class="stack close" aria-label={testCaseTexts.expectedSide}>
            <h3 class="row">
              {testCaseTexts.expectedSide}
              <Button
                compact
                kind="plain"
                needs="transformations:edit"
                onClick={() =>
                  withInput(async (events) => setExpected(jsonText(await outputsOf(events))))
                }
              >
                {testCaseTexts.fillFromRun}
              </Button>
            </h3>
            <CodeEditor
              label={testCaseTexts.expectedOutput}
              language="json"
              value={expected}
              onChange={setExpected}
            />
            <p class="quiet small">{testCaseTexts.expectedHint}</p>
          </section>
        </div>
        {error && (
          <p class="wrong" role="alert">
            {error}
          </p>
        )}
      </Form>
    </Dialog>
  );
}

const isStored = (testCase: Partial<TestCase>): testCase is TestCase => testCase.id !== undefined;

const valuesOf = ({ testCase }: { testCase: TestCase }) => {
  const { name, description, input, expectedOutput } = testCase;
  return { name, description, input, expectedOutput };
};

const labels: Record<string, string> = {
  name: commonTexts.name,
  input: testCaseTexts.input,
  expectedOutput: testCaseTexts.expectedSide,
};

/**
 * Parses the expected outputs: JSON with an array of objects. Returns undefined for blank text, and
 * throws for any other text.
 */
function parseOutputs(text: string): JsonObject[] | undefined {
  if (text.trim() === "") return undefined;
  if (!text.trim().startsWith("[")) throw new Error(testCaseTexts.expectedAnArray);
  return parseEvents(text);
}

function eventsText(events: readonly unknown[]): string {
  return events.length === 0 ? "" : jsonText(events.length === 1 ? events[0] : events);
}

function jsonText(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}
