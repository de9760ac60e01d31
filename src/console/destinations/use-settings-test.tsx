import { useEffect, useState } from "preact/hooks";
import { client } from "../data/session.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { type ConnectionTestReport, TestSteps } from "./test-steps.tsx";

/**
 * Test of the settings in a form, which are not saved. `result` shows the steps until a setting is
 * changed.
 */
export function useSettingsTest(settings: {
  type: string;
  config: Record<string, unknown>;
  /** The destination whose stored secrets stand for those that the form leaves blank. */
  destinationId?: string;
}) {
  const [report, setReport] = useState<ConnectionTestReport>();
  const tested = JSON.stringify(settings);
  useEffect(() => setReport(undefined), [tested]);
  return {
    trial: {
      action: destinationTexts.testSettings,
      async run() {
        setReport(undefined);
        setReport(await client.call("POST /v2/destinations/test", { body: settings }));
      },
    },
    result: report && <TestSteps report={report} />,
  };
}
