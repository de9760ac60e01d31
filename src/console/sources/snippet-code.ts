/** A way to send events for which there is sample code, such as `script` or `curl`. */
export type SnippetKind = keyof typeof snippetOf;

/** Returns a string as a literal in double quotes, for the languages of the sample code. */
const quoted = (text: string) => JSON.stringify(text);

/**
 * For each way to send events, such as `script` or `curl`, a function that returns sample code. The
 * code sends events of one source, by its write key, to the data plane.
 */
export const snippetOf = {
  script: (dataPlane, writeKey) => `<script>
  const random = () => Math.random().toString(36).slice(2);
  const anonymousId = (localStorage.visitor ??= random());
  const pixel = (type, fields) => {
    const all = { writeKey: "${writeKey}", anonymousId, ...fields };
    const query = new URLSearchParams({ ...all, n: random() });
    new Image().src =
      \`${dataPlane}/pixel/v1/\${type}?\${query}\`;
  };
  pixel("page", { name: document.title });
</script>`,
  image: (dataPlane, writeKey) =>
    `<img src="${dataPlane}/pixel/v1/page?writeKey=${writeKey}&amp;anonymousId=VISITOR_ID&amp;name=Home" width="1" height="1" alt="">`,
  curl: (dataPlane, writeKey) =>
    `curl -G "${dataPlane}/pixel/v1/track" \\
  -d writeKey=${writeKey} \\
  -d anonymousId=visitor-1 \\
  --data-urlencode "event=Signed up" \\
  -d properties.plan=pro`,
  http: (dataPlane, writeKey) => `curl "${dataPlane}/v1/track" \\
  -u ${writeKey}: \\
  -d '{"userId":"user-1","event":"Signed up","properties":{"plan":"pro"}}'`,
  javascript: (dataPlane, writeKey) => `// npm install @rudderstack/analytics-js
import { RudderAnalytics } from "@rudderstack/analytics-js/bundled";

const analytics = new RudderAnalytics();
analytics.load(${quoted(writeKey)}, ${quoted(dataPlane)}, {
  configUrl: ${quoted(dataPlane)},
});
analytics.page();
analytics.track("Signed up", { plan: "pro" });`,
  node: (dataPlane, writeKey) => `// npm install @rudderstack/rudder-sdk-node
import RudderAnalytics from "@rudderstack/rudder-sdk-node";

const analytics = new RudderAnalytics(${quoted(writeKey)}, {
  dataPlaneUrl: ${quoted(dataPlane)},
});
analytics.track({
  userId: "user-1",
  event: "Signed up",
  properties: { plan: "pro" },
});`,
  python: (dataPlane, writeKey) => `# pip install rudder-sdk-python
import rudderstack.analytics as analytics

analytics.write_key = ${quoted(writeKey)}
analytics.dataPlaneUrl = ${quoted(dataPlane)}
analytics.track("user-1", "Signed up", {"plan": "pro"})
analytics.flush()`,
  go: (dataPlane, writeKey) => `// go get github.com/rudderlabs/analytics-go/v4
package main

import "github.com/rudderlabs/analytics-go/v4"

func main() {
	client := analytics.New(${quoted(writeKey)}, ${quoted(dataPlane)})
	defer client.Close()
	client.Enqueue(analytics.Track{
		UserId:     "user-1",
		Event:      "Signed up",
		Properties: analytics.NewProperties().Set("plan", "pro"),
	})
}`,
  java: (dataPlane, writeKey) =>
    `// com.rudderstack.sdk.java.analytics:analytics:3.1.2
import com.rudderstack.sdk.java.analytics.RudderAnalytics;
import com.rudderstack.sdk.java.analytics.messages.TrackMessage;
import java.util.Map;

RudderAnalytics analytics = RudderAnalytics
    .builder(${quoted(writeKey)})
    .setDataPlaneUrl(${quoted(dataPlane)})
    .build();
analytics.enqueue(TrackMessage.builder("Signed up")
    .userId("user-1")
    .properties(Map.of("plan", "pro")));
analytics.flush();`,
  kotlin: (dataPlane, writeKey) =>
    `// implementation("com.rudderstack.sdk.kotlin:android:VERSION")
import com.rudderstack.sdk.kotlin.android.Analytics
import com.rudderstack.sdk.kotlin.android.Configuration

val analytics = Analytics(
    configuration = Configuration(
        application = application,
        writeKey = ${quoted(writeKey)},
        dataPlaneUrl = ${quoted(dataPlane)},
        controlPlaneUrl = ${quoted(dataPlane)},
    )
)
analytics.track("Signed up", buildJsonObject { put("plan", "pro") })`,
  swift: (dataPlane, writeKey) =>
    `// Package: https://github.com/rudderlabs/rudder-sdk-swift
import RudderStackAnalytics

let configuration = Configuration(
    writeKey: ${quoted(writeKey)},
    dataPlaneUrl: ${quoted(dataPlane)},
    controlPlaneUrl: ${quoted(dataPlane)}
)
let analytics = Analytics(configuration: configuration)
analytics.track(name: "Signed up", properties: ["plan": "pro"])`,
  segmentJavascript: (dataPlane, writeKey) => {
    const { protocol, host, pathname } = new URL(dataPlane);
    const apiHost = `${host}${pathname.replace(/\/$/, "")}/v1`;
    return `// npm install @segment/analytics-next
import { AnalyticsBrowser } from "@segment/analytics-next";

const analytics = AnalyticsBrowser.load(
  { writeKey: ${quoted(writeKey)}, cdnURL: ${quoted(dataPlane)} },
  {
    integrations: {
      "Segment.io": { apiHost: ${quoted(apiHost)}, protocol: ${quoted(protocol.slice(0, -1))} },
    },
  },
);
analytics.page();
analytics.track("Signed up", { plan: "pro" });`;
  },
  segmentNode: (dataPlane, writeKey) => `// npm install @segment/analytics-node
import { Analytics } from "@segment/analytics-node";

const analytics = new Analytics({
  writeKey: ${quoted(writeKey)},
  host: ${quoted(dataPlane)},
});
analytics.track({
  userId: "user-1",
  event: "Signed up",
  properties: { plan: "pro" },
});`,
  segmentPython: (dataPlane, writeKey) => `# pip install segment-analytics-python
import segment.analytics as analytics

analytics.write_key = ${quoted(writeKey)}
analytics.host = ${quoted(dataPlane)}
analytics.track("user-1", "Signed up", {"plan": "pro"})
analytics.flush()`,
} satisfies Record<string, (dataPlane: string, writeKey: string) => string>;
