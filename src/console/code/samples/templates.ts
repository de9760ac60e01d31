/** Sample code for a common task, which the user can choose for a new transformation. */
export interface CodeTemplate {
  /** Key of the template's name in the texts of the console. */
  name: "dropInternal" | "removePersonalData" | "rename" | "split" | "lookUp";
  /** Code that does the task, by language. `python` is absent if Python code cannot do the task. */
  code: { javascript: string; python?: string };
  /**
   * Example event for the code. It becomes the test event of a transformation that is created from
   * the template.
   */
  event: Record<string, unknown>;
  /** The outputs of the code for `event`. */
  outputs: readonly Record<string, unknown>[];
  /** Names of the credentials that the code reads. */
  credentials?: readonly string[];
}

export function templateCode({ code }: CodeTemplate, language: string): string | undefined {
  return language === "javascript" ? code.javascript : code.python;
}

export const codeTemplates: readonly CodeTemplate[] = [
  {
    name: "dropInternal",
    code: {
      javascript: `// Events of your own people and of test machines are dropped.
const emailDomains = ["example.com"];
const ips = ["203.0.113.7"];

export function transformEvent(event) {
  const email = event.properties?.email ?? event.context?.traits?.email ?? "";
  const domain = String(email).split("@").at(-1).toLowerCase();
  if (emailDomains.includes(domain) || ips.includes(event.request_ip))
    return null;
  return event;
}
`,
      python: `# Events of your own people and of test machines are dropped.
EMAIL_DOMAINS = {"example.com"}
IPS = {"203.0.113.7"}


def transformEvent(event, metadata):
    traits = event.get("context", {}).get("traits", {})
    email = event.get("properties", {}).get("email") or traits.get("email") or ""
    domain = str(email).split("@")[-1].lower()
    if domain in EMAIL_DOMAINS or event.get("request_ip") in IPS:
        return None
    return event
`,
    },
    event: { type: "track", event: "Signed up", properties: { email: "ada@EXAMPLE.com" } },
    outputs: [],
  },
  {
    name: "removePersonalData",
    code: {
      javascript: `// These fields are removed wherever they are, and IP addresses lose their last part.
const personal = new Set([
  "email",
  "phone",
  "firstName",
  "lastName",
  "address",
]);

export function transformEvent(event) {
  removeFrom(event.properties);
  removeFrom(event.context?.traits);
  if (event.request_ip) event.request_ip = shortened(event.request_ip);
  if (event.context?.ip) event.context.ip = shortened(event.context.ip);
  return event;
}

function removeFrom(value) {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    if (personal.has(key)) delete value[key];
    else removeFrom(value[key]);
  }
}

function shortened(ip) {
  return ip.includes(":")
    ? \`\${ip.split(":").slice(0, 3).join(":")}::\`
    : ip.replace(/\\d+$/, "0");
}
`,
      python: `import re

# These fields are removed wherever they are, and IP addresses lose their last part.
PERSONAL = {"email", "phone", "firstName", "lastName", "address"}


def transformEvent(event, metadata):
    context = event.get("context", {})
    remove_from(event.get("properties"))
    remove_from(context.get("traits"))
    if event.get("request_ip"):
        event["request_ip"] = shortened(event["request_ip"])
    if context.get("ip"):
        context["ip"] = shortened(context["ip"])
    return event


def remove_from(value):
    if isinstance(value, list):
        for item in value:
            remove_from(item)
    if not isinstance(value, dict):
        return
    for key in list(value):
        if key in PERSONAL:
            del value[key]
        else:
            remove_from(value[key])


def shortened(ip):
    if ":" in ip:
        return ":".join(ip.split(":")[:3]) + "::"
    return re.sub(r"\\d+$", "0", ip)
`,
    },
    event: {
      type: "track",
      event: "Ordered",
      request_ip: "198.51.100.23",
      properties: { total: 12, customer: { email: "ada@example.org", plan: "pro" }, phone: "1" },
    },
    outputs: [
      {
        type: "track",
        event: "Ordered",
        request_ip: "198.51.100.0",
        properties: { total: 12, customer: { plan: "pro" } },
      },
    ],
  },
  {
    name: "rename",
    code: {
      javascript: `// Names of events and of their properties: as they arrive, and as the destination expects them.
const events = { "Signed up": "sign_up", Ordered: "purchase" };
const properties = { total: "value", orderId: "transaction_id" };

export function transformEvent(event) {
  event.event = events[event.event] ?? event.event;
  event.properties = Object.fromEntries(
    Object.entries(event.properties ?? {}).map(([key, value]) => [
      properties[key] ?? key,
      value,
    ]),
  );
  return event;
}
`,
      python: `# Names of events and of their properties: as they arrive, and as the destination expects them.
EVENTS = {"Signed up": "sign_up", "Ordered": "purchase"}
PROPERTIES = {"total": "value", "orderId": "transaction_id"}


def transformEvent(event, metadata):
    if "event" in event:
        event["event"] = EVENTS.get(event["event"], event["event"])
    properties = event.get("properties", {})
    event["properties"] = {PROPERTIES.get(key, key): value for key, value in properties.items()}
    return event
`,
    },
    event: {
      type: "track",
      event: "Ordered",
      properties: { total: 12, orderId: "o-1", plan: "pro" },
    },
    outputs: [
      {
        type: "track",
        event: "purchase",
        properties: { value: 12, transaction_id: "o-1", plan: "pro" },
      },
    ],
  },
  {
    name: "split",
    code: {
      javascript: `// An event with a list of products becomes one event for each product.
export function transformEvent(event) {
  const { products, ...properties } = event.properties ?? {};
  if (!Array.isArray(products)) return event;
  return products.map((product, index) => ({
    ...event,
    messageId: \`\${event.messageId}-\${index}\`,
    properties: { ...properties, ...product },
  }));
}
`,
      python: `# An event with a list of products becomes one event for each product.
def transformEvent(event, metadata):
    properties = dict(event.get("properties", {}))
    products = properties.pop("products", None)
    if not isinstance(products, list):
        return event
    return [
        {
            **event,
            "messageId": f"{event.get('messageId')}-{index}",
            "properties": {**properties, **product},
        }
        for index, product in enumerate(products)
    ]
`,
    },
    event: {
      type: "track",
      event: "Ordered",
      messageId: "m-1",
      properties: { orderId: "o-1", products: [{ sku: "tea" }, { sku: "cup" }] },
    },
    outputs: [
      {
        type: "track",
        event: "Ordered",
        messageId: "m-1-0",
        properties: { orderId: "o-1", sku: "tea" },
      },
      {
        type: "track",
        event: "Ordered",
        messageId: "m-1-1",
        properties: { orderId: "o-1", sku: "cup" },
      },
    ],
  },
  {
    name: "lookUp",
    code: {
      javascript: `// Adds what another service knows about the user. CRM_TOKEN is a credential of the workspace.
const service = "https://crm.example.com/users/";

export async function transformEvent(event) {
  if (!event.userId) return event;
  const { status, body } = await fetchV2(
    service + encodeURIComponent(event.userId),
    {
      headers: { Authorization: \`Bearer \${getCredential("CRM_TOKEN")}\` },
      timeout: 1000,
    },
  );
  if (status !== 200) throw new Error(\`The service answered \${status}\`);
  event.properties = { ...event.properties, segment: body.segment };
  return event;
}
`,
    },
    event: { type: "track", event: "Signed up", userId: "u 1", properties: {} },
    outputs: [
      { type: "track", event: "Signed up", userId: "u 1", properties: { segment: "enterprise" } },
    ],
    credentials: ["CRM_TOKEN"],
  },
];
