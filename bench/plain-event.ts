/**
 * Builds the event of a pixel from the pairs of any parser, with objects, arrays and
 * `JSON.stringify`. All compared parsers use it, so that all write the same bytes.
 */

type Node = string | number | Node[] | { [name: string]: Node };
type Pairs = Iterable<readonly [string, string]>;

const owned = new Set([
  ...["type", "messageId", "originalTimestamp", "sentAt", "receivedAt", "channel", "request_ip"],
  ...["integrations", "writeKey"],
]);
const strings = new Set(["anonymousId", "userId", "name", "event"]);
const INDEX = /^(0|[1-9][0-9]{0,2})$/;
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;
const encoder = new TextEncoder();

export interface Frame {
  messageId: string;
  time: string;
  request_ip: string;
}

export function plainEvent(pairs: Pairs, { messageId, time, request_ip }: Frame): Uint8Array {
  const known: Record<string, string> = {};
  const roots: { [name: string]: Node } = Object.create(null);
  roots.properties = Object.create(null);
  roots.context = Object.create(null);
  for (const [name, value] of pairs) {
    const path = name.split(".");
    const top = path[0]!;
    if (name === "" || owned.has(top)) continue;
    if (!strings.has(top)) put(roots, path, leafOf(path, value));
    else if (path.length === 1) known[top] ??= value;
  }
  const { properties, context, ...others } = roots;
  const { anonymousId, userId, name, event } = known;
  return encoder.encode(
    JSON.stringify({
      type: "track",
      channel: "web",
      messageId,
      anonymousId: anonymousId?.replace(/^"(.*)"$/s, "$1"),
      userId,
      name,
      event,
      ...others,
      properties,
      context,
      integrations: { All: true },
      originalTimestamp: time,
      sentAt: time,
      receivedAt: time,
      request_ip,
    }),
  );
}

function leafOf(path: string[], value: string): Node {
  const isInZone =
    path[0] === "properties" || (path[0] === "context" && path[1] === "screen" && path.length > 2);
  return isInZone && NUMBER.test(value) && value.replace(/[-.]/g, "").length <= 15
    ? Number(value)
    : value;
}

function put(root: { [name: string]: Node }, path: string[], leaf: Node): void {
  let node: Node = root;
  const last = path.length - 1;
  for (let level = 0; level <= last; level++) {
    const component = path[level]!;
    if (typeof node !== "object" || (Array.isArray(node) && !INDEX.test(component))) return;
    const container = node as { [name: string]: Node };
    if (level === last) {
      container[component] ??= leaf;
      return;
    }
    container[component] ??= INDEX.test(path[level + 1]!) ? [] : Object.create(null);
    node = container[component]!;
  }
}
