import { isolated } from "../format.ts";

/** Texts of the screens of sources and their connections. */
export const sourceTexts = {
  noDestinationsHint: "Connect a destination: it receives the events from that moment.",
  connectTo: "Connect to",
  notFound: "Source not found",
  settingsRequire: (permission: string) =>
    `The write key, the settings and the destinations require ${permission}.`,
  noSourcesConnected: "No sources connected",
  noSourcesHint: "Connect a source: its events arrive here from that moment.",
  connectSource: "Connect a source",
  disconnectConsequence:
    "New events no longer use this connection. Pending ones are still delivered.",
  snippetNoun: "snippet",
  snippets: {
    label: "SDK or snippet",
    kinds: {
      script: {
        text: "Pixel: script for a page",
        hint: "Sends a page event; call pixel() for other events. The parameter n makes each URL unique: browsers request the same image only once per page.",
      },
      image: {
        text: "Pixel: image",
        hint: "One view per page load; works in email, where scripts do not run.",
      },
      curl: {
        text: "Pixel: curl",
        hint: "From a terminal or a server. 200 means that the event is stored.",
      },
      http: {
        text: "HTTP API: curl",
        hint: "The write key is the user name, without a password. Other types have their own paths, and /v1/batch takes many events.",
      },
      javascript: {
        text: "JavaScript in the browser",
        hint: "The bundled build loads nothing from other servers. The address must be localhost, an IPv4 address or a name with a dot.",
      },
      node: { text: "Node.js", hint: "Sends events in batches, and tries again after errors." },
      python: { text: "Python", hint: "flush() waits until all events are sent." },
      go: { text: "Go", hint: "Close() sends the events that wait." },
      java: { text: "Java", hint: "Call shutdown() when the application ends." },
      kotlin: {
        text: "Android (Kotlin)",
        hint: "Android permits http:// addresses only where the app allows them: use https:// in production.",
      },
      swift: {
        text: "iOS (Swift)",
        hint: "iOS permits http:// addresses only where the app allows them: use https:// in production.",
      },
      segmentJavascript: {
        text: "Segment: JavaScript in the browser",
        hint: "For pages that already use Segment's SDK: they change the two addresses and the key.",
      },
      segmentNode: {
        text: "Segment: Node.js",
        hint: "For servers that already use Segment's SDK: they change the address and the key.",
      },
      segmentPython: {
        text: "Segment: Python",
        hint: "For servers that already use Segment's SDK: they change the address and the key.",
      },
    },
  },
  settings: {
    title: "Events of this source",
    labels: {
      ip: "IP addresses",
      bots: "Bots",
      geoEnrichment: "Geolocation",
      allowedOrigins: "Allowed origins",
      dedupSeconds: "Deduplication window (s)",
    },
    ips: {
      keep: "Record the whole address",
      truncate: "Record the network only",
      drop: "Record no address",
    },
    ipHint: "The address that a request came from. The rest is never written to disk.",
    botModes: {
      keep: "Deliver as any other event",
      mark: "Mark as context.isBot, and deliver",
      drop: "Do not deliver",
    },
    botsHint: "An event counts as a bot's if its context.userAgent is that of a known bot.",
    geoEnrichment: "Add the location of the IP address as context.geo",
    allowedOriginsHint:
      "Web pages that may send events, one origin per line, such as https://*.example.com. Empty for all. Requests without an origin, as servers and apps send, are accepted.",
    dedupSecondsHint:
      "An event whose messageId the source has sent within these seconds is not delivered again. 0 for off; 3600 suits SDKs, which send again after errors.",
    save: "Save settings",
    saved: "Settings saved",
  },
  writeKey: "Write key",
  writeKeyNoun: "write key",
  sourceNoun: "source",
  sourceExplained:
    "A source is a website, an app or a server that sends events. Each source has its own write key, which you paste into its code.",
  lastEvent: "Last event",
  refusedEvents: "Refused events",
  findRefusedEvents: "Search with reasons",
  noEventYet: "No event in the last 30 days",
  receivedRate: "Received, last minute",
  createSource: "Create source",
  nameExample: "Website",
  nameHint: "What sends the events: a site, an app, a campaign.",
  installSnippet: "Install snippet",
  sendTestEvent: "Send a test event",
  rotateQuestion: "Rotate the write key?",
  rotateConsequence:
    "The current key stops working immediately: pages that still send it get 401, and their events are lost. Install the new key soon.",
  rotateAction: "Rotate the key",
  rotateWriteKey: "Rotate write key",
  deleteConsequence:
    "Its write key stops working immediately, and its connections are deleted. Events that it has sent are still delivered.",
  disabledEffect: "Disabled: its requests get 404",
  nameChanged: "Name changed",
  rename: "Rename",
  sourceDisabled: "The source is disabled",
  liveTailOfSource: "Live tail of this source",
  sendingTestEvent: "Sending the event",
  awaitingDelivery: "Stored; awaiting delivery",
  notFollowed: "Stored. Its delivery is no longer followed here: see the live tail of this source.",
  connectionWith: (name: string) => `Connection with ${isolated(name)}`,
  writeKeyRotated: (name: string) => `${isolated(name)} has a new write key`,
  dataPlaneUnreachable: (url: string) =>
    `This browser cannot reach ${url}. The setting public.url holds the address of the data plane`,
  dataPlaneAnswered: (status: number) => `The data plane answered ${status}`,
  deliveryRequires: (permission: string) => `Stored. To see its delivery requires ${permission}.`,
};
