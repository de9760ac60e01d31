import { useEffect, useState } from "preact/hooks";
import { type CodeContext, libraries } from "../code-kinds/code-kind.ts";
import { Panel, SegmentedControl } from "../components/layout.tsx";
import { sampleEvents } from "../data/sample-events.ts";
import { replaceQuery } from "../router.ts";
import { TestCaseList } from "../testing/test-case-list.tsx";
import { codeTexts } from "../texts/code.ts";
import { testCaseTexts } from "../texts/test-cases.ts";
import { TestEvents } from "./test-events.tsx";
import type { Editor } from "./use-editor.ts";

/** Panel with inputs of a test run: the test events in this browser, and the stored test cases. */
export function Tests(props: {
  context: CodeContext;
  editor: Editor;
  /**
   * Called with the real events that the user loads, so that code completion offers their fields.
   */
  onRealEvents: (events: readonly unknown[]) => void;
}) {
  const { context, editor, onRealEvents } = props;
  const { kind, isNewTestCase } = context;
  const [tab, setTab] = useState<"events" | "cases">(isNewTestCase ? "cases" : "events");
  const [newFrom] = useState(() => (isNewTestCase ? sampleEvents.value[0] : undefined));
  useEffect(() => {
    // A reload of the page must not begin the test case again.
    if (isNewTestCase) replaceQuery({ testCase: "" });
  }, []);
  if (kind === libraries) return <TestEvents editor={editor} onRealEvents={onRealEvents} />;
  const { testCases, report, outputsOf } = editor;
  const switcher = (
    <SegmentedControl
      label={testCaseTexts.testsPanel}
      value={tab}
      options={[
        { value: "events", text: codeTexts.testEvents },
        { value: "cases", text: testCaseTexts.count(testCases.list?.length ?? 0) },
      ]}
      onChange={setTab}
    />
  );
  if (tab === "events") {
    return <TestEvents editor={editor} onRealEvents={onRealEvents} switcher={switcher} />;
  }
  return (
    <Panel title={testCaseTexts.testCases}>
      {switcher}
      <TestCaseList
        testCases={testCases}
        results={report?.testSuites ?? []}
        newFrom={newFrom}
        outputsOf={outputsOf}
      />
    </Panel>
  );
}
