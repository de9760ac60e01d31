import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { showToast } from "../components/toasts.ts";
import { testCaseTexts } from "../texts/code.ts";
import { type SuiteResult, suiteBadge } from "./run-results.tsx";
import { TestCaseForm } from "./test-case-form.tsx";
import type { TestCase, TestCases } from "./use-test-cases.ts";

/** List of a transformation's test cases with their last results, and the form to change one. */
export function TestCaseList(props: {
  testCases: TestCases;
  /** Results of the last run. */
  results: readonly SuiteResult[];
  /** Event for a new test case. If present, the form for a new test case opens at once with it. */
  newFrom: Record<string, unknown> | undefined;
  outputsOf: (input: Record<string, unknown>[]) => Promise<unknown[]>;
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
          outputsOf={outputsOf}
          onClose={() => setEdited(undefined)}
          onSave={(input, tag) => testCases.save(input, edited.id, tag)}
          onSaved={() => {
            setEdited(undefined);
            showToast(testCaseTexts.saved);
          }}
        />
      )}
    </div>
  );
}
