import { join } from "node:path";
import { chromiumMissing } from "../api/_chromium.ts";
import { firstMissing, type Missing } from "../counterpart.ts";
import { startBrowser } from "./browser.ts";
import { languageMissing, packages, programs } from "./packages.ts";
import { type SdkProgram, startProgram } from "./program.ts";

/** An SDK that the tests run. */
export interface Sdk {
  name: string;
  missing: Missing;
  start(): Promise<SdkProgram>;
  hasScreen: boolean;
  /** Whether the SDK reports each event that was sent, not only those that failed. */
  reportsSent: boolean;
  /**
   * The reaction to an unknown write key: the SDK reports that the events failed, sends them again,
   * which no answer prevents, or does not start, because it gets no configuration.
   */
  unknownKey: "reports" | "repeats" | "does not start";
}

const javaPath = `${packages}/java:${packages}/java/*`;
const javaCommand = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", javaPath, "Sdk"];
const python = (file: string) => async () => startProgram(["python3", join(programs, file)]);
const node = (file: string) => async () => startProgram(["node", join(programs, file)]);
const go = (sdk: string) => async () => startProgram([join(packages, "go", "sdks"), sdk]);
const java =
  (...sdk: string[]) =>
  async () =>
    startProgram([...javaCommand, ...sdk]);

const missing = {
  npm: languageMissing("npm", "node"),
  python: languageMissing("python", "python3"),
  go: languageMissing("go", "go"),
  java: languageMissing("java", "java"),
};

const server = { hasScreen: true, reportsSent: true, unknownKey: "reports" as const };
const browser = {
  missing: firstMissing(chromiumMissing, missing.npm),
  hasScreen: false,
  reportsSent: false,
  unknownKey: "does not start" as const,
};

export const serverSdks: readonly Sdk[] = [
  {
    ...server,
    name: "@rudderstack/rudder-sdk-node",
    start: node("rudder-node.mjs"),
    missing: missing.npm,
  },
  {
    ...server,
    name: "@segment/analytics-node",
    start: node("segment-node.mjs"),
    missing: missing.npm,
  },
  {
    ...server,
    name: "rudder-sdk-python",
    start: python("rudder_python.py"),
    missing: missing.python,
    reportsSent: false,
  },
  {
    ...server,
    name: "segment-analytics-python",
    start: python("segment_python.py"),
    missing: missing.python,
    reportsSent: false,
  },
  {
    ...server,
    name: "rudderlabs/analytics-go",
    start: go("rudder"),
    missing: missing.go,
    unknownKey: "repeats",
  },
  {
    ...server,
    name: "segmentio/analytics-go",
    start: go("segment"),
    missing: missing.go,
    unknownKey: "repeats",
  },
  {
    ...server,
    name: "com.rudderstack.sdk.java.analytics",
    start: java("com.rudderstack.sdk.java.analytics", "RudderAnalytics"),
    missing: missing.java,
  },
  {
    ...server,
    name: "com.segment.analytics.java",
    start: java("com.segment.analytics", "Analytics"),
    missing: missing.java,
  },
];

export const browserSdks: readonly Sdk[] = [
  {
    ...browser,
    name: "@rudderstack/analytics-js/bundled",
    start: () => startBrowser("rudder.js", "@rudderstack/analytics-js/dist/npm/modern/bundled/umd"),
  },
  {
    ...browser,
    name: "rudder-sdk-js",
    start: () => startBrowser("rudder.js", "rudder-sdk-js/dist/npm"),
  },
  {
    ...browser,
    name: "@segment/analytics-next",
    start: () => startBrowser("segment.js", "@segment/analytics-next/dist/umd"),
  },
];
