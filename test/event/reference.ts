import type { PixelRecord } from "../../src/event/record.ts";

/**
 * The rules of the Pixel API once more: plain, slow, and as close to their text as code can
 * be. The scanner must write the same bytes.
 */

type Node = string | number | NumberText | Map<string, Node> | (Node | undefined)[];
/** A number as it was written: JSON keeps `1.50`. */
interface NumberText {
  number: string;
}

/** Percent-decoding as WHATWG's `application/x-www-form-urlencoded` parser. */
export function decodeText(encoded: string): string {
  const bytes: number[] = [];
  for (let i = 0; i < encoded.length; i++) {
    const match = /^%([0-9a-fA-F]{2})/.exec(encoded.slice(i, i + 3));
    if (match) {
      bytes.push(Number.parseInt(match[1]!, 16));
      i += 2;
    } else {
      bytes.push(encoded[i] === "+" ? 0x20 : encoded.charCodeAt(i));
    }
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
}

/** Names and values in their order; nothing between two `&` is no pair. */
export function pairsOf(query: string): { name: string; value: string }[] {
  return query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const equals = pair.indexOf("=");
      return equals < 0
        ? { name: decodeText(pair), value: "" }
        : { name: decodeText(pair.slice(0, equals)), value: decodeText(pair.slice(equals + 1)) };
    });
}

/** The status that decides about a query, before anybody knows the write key. */
export function referenceProblem(query: string, type: "page" | "track"): boolean {
  const pairs = pairsOf(query);
  const first = (name: string) => pairs.find((pair) => pair.name === name)?.value ?? "";
  const isBlank = (value: string) => value.trim() === "";
  if (exceedsLimits(query, type) || gapsOf(fieldsOf(query, type)) > 500) return true;
  if (isBlank(first("writeKey"))) return true;
  if (isBlank(unquoted(first("anonymousId"))) && isBlank(first("userId"))) return true;
  if (type === "track" && isBlank(first("event"))) return true;
  return false;
}

/** Whether parameters are left out even of a record that is in the event log. */
export function exceedsLimits(query: string, type: "page" | "track"): boolean {
  const pairs = pairsOf(query);
  return (
    pairs.length > 1_000 ||
    pairs.some((pair) => pair.name.split(".").length > 16) ||
    elementsOf(fieldsOf(query, type)) > 100_000
  );
}

/** The event of a record, as JSON. */
export function referenceEvent(record: PixelRecord): string {
  const fields = fieldsOf(record.query, record.type);
  const time = new Date(record.receivedAt).toISOString();
  const hex = Buffer.from(record.messageId).toString("hex");
  const messageId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

  const event = new Map<string, Node>([
    ["type", record.type],
    ["channel", "web"],
    ["messageId", messageId],
  ]);
  const anonymousId = fields.get("anonymousId");
  if (typeof anonymousId === "string") event.set("anonymousId", unquoted(anonymousId));
  const userId = fields.get("userId");
  if (typeof userId === "string") event.set("userId", userId);
  const name = fields.get("name");
  if (typeof name === "string") {
    event.set("name", record.type === "page" && name.trim() === "" ? "Unknown Page" : name);
  }
  const eventName = fields.get("event");
  if (typeof eventName === "string") event.set("event", eventName);
  for (const [field, value] of fields) if (!known.includes(field)) event.set(field, value);
  event.set("properties", fields.get("properties")!);
  event.set("context", fields.get("context")!);
  event.set("integrations", new Map([["All", { number: "true" }]]));
  event.set("originalTimestamp", time);
  event.set("sentAt", time);
  event.set("receivedAt", time);
  if (record.clientAddress !== "") event.set("request_ip", record.clientAddress);
  return jsonOf(event);
}

const owned = [
  "type",
  "messageId",
  "originalTimestamp",
  "sentAt",
  "receivedAt",
  "channel",
  "request_ip",
  "integrations",
  "writeKey",
];
const strings = ["anonymousId", "userId", "name", "event"];
const known = [...owned, ...strings, "properties", "context"];

function unquoted(id: string): string {
  return /^".*"$/su.test(id) && id.length > 1 ? id.slice(1, -1) : id;
}

/** Every parameter in its place, or left out where it loses. */
function fieldsOf(query: string, type: "page" | "track"): Map<string, Node> {
  const fields = new Map<string, Node>([
    ["properties", new Map()],
    ["context", new Map()],
  ]);
  for (const { name, value } of pairsOf(query)) {
    const path = name.split(".");
    const top = path[0]!;
    if (name === "" || owned.includes(top) || (top === "event" && type === "page")) continue;
    if (strings.includes(top) && path.length > 1) continue;
    put(fields, path, leafOf(path, value));
  }
  return fields;
}

function leafOf(path: string[], value: string): Node {
  const isInZone =
    (path[0] === "properties" && path.length > 1) ||
    (path[0] === "context" && path[1] === "screen" && path.length > 2);
  if (!isInZone || !/^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(value)) return value;
  const significant = value.replace(/[-.]/g, "").replace(/^0+/, "");
  return significant.length <= 15 ? { number: value } : value;
}

function isIndex(component: string): boolean {
  return /^(0|[1-9][0-9]{0,2})$/.test(component);
}

function put(root: Map<string, Node>, path: string[], leaf: Node): void {
  let container: Node = root;
  for (const [level, component] of path.entries()) {
    if (Array.isArray(container) ? !isIndex(component) : !(container instanceof Map)) return;
    const existing = get(container, component);
    if (level === path.length - 1) {
      if (existing === undefined) set(container, component, leaf);
      return;
    }
    const next: Node = existing ?? (isIndex(path[level + 1]!) ? [] : new Map());
    if (existing === undefined) set(container, component, next);
    container = next;
  }
}

function get(container: Node, component: string): Node | undefined {
  if (Array.isArray(container)) return container[Number(component)];
  return container instanceof Map ? container.get(component) : undefined;
}

function set(container: Node, component: string, value: Node): void {
  if (Array.isArray(container)) container[Number(component)] = value;
  else if (container instanceof Map) container.set(component, value);
}

/** Elements of all arrays that no parameter names. */
function gapsOf(node: Node | undefined): number {
  if (!Array.isArray(node) && !(node instanceof Map)) return 0;
  const children = [...node.values()];
  const own = Array.isArray(node) ? children.filter((child) => child === undefined).length : 0;
  return children.reduce<number>((sum, child) => sum + gapsOf(child), own);
}

/** Lengths of all arrays. */
function elementsOf(node: Node | undefined): number {
  if (Array.isArray(node)) {
    let sum = node.length;
    for (const child of node) sum += elementsOf(child);
    return sum;
  }
  if (!(node instanceof Map)) return 0;
  let sum = 0;
  for (const child of node.values()) sum += elementsOf(child);
  return sum;
}

function jsonOf(node: Node | undefined): string {
  if (node === undefined) return "null";
  if (Array.isArray(node)) return `[${Array.from(node, jsonOf).join(",")}]`;
  if (node instanceof Map) {
    const members = [...node].map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`);
    return `{${members.join(",")}}`;
  }
  if (typeof node === "object") return node.number;
  return JSON.stringify(node);
}
