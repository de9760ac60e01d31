/**
 * The rules of the Pixel API by example: a query, and the part of the event that comes of
 * it. `writeKey` and an id are added where a line is not about them.
 */
export interface Fixture {
  rule: string;
  type?: "page" | "track";
  query: string;
  /** Fields of the event; the ones that every event has are left out. */
  event: Record<string, unknown>;
}

/** An object whose members are own data, whatever their names. */
function plain(json: string): unknown {
  return JSON.parse(json);
}

export const fixtures: Fixture[] = [
  {
    rule: "the example of the specification, page",
    query:
      "anonymousId=anon-1&userId=u%201&name=Home&context.library.name=AMP&context.library.version=1.0.0" +
      "&context.platform=web&context.locale=en-GB&context.userAgent=Mozilla%2F5.0&context.screen.width=1920" +
      "&context.screen.height=1080&context.page.path=%2Fhome&context.page.url=https%3A%2F%2Fx.test%2Fhome" +
      "&context.page.referrer=&context.page.title=Home+page&properties.plan=pro",
    event: {
      anonymousId: "anon-1",
      userId: "u 1",
      name: "Home",
      properties: { plan: "pro" },
      context: {
        library: { name: "AMP", version: "1.0.0" },
        platform: "web",
        locale: "en-GB",
        userAgent: "Mozilla/5.0",
        screen: { width: 1920, height: 1080 },
        page: { path: "/home", url: "https://x.test/home", referrer: "", title: "Home page" },
      },
    },
  },
  {
    rule: "the example of the specification, track",
    type: "track",
    query: "event=Order+Completed&name=Checkout&properties.revenue=29.99&properties.sku=sku-123",
    event: {
      event: "Order Completed",
      name: "Checkout",
      properties: { revenue: 29.99, sku: "sku-123" },
    },
  },

  { rule: "+ is a space, %2B a plus", query: "x=a+b%2Bc", event: { x: "a b+c" } },
  { rule: "escapes are UTF-8", query: "x=%E2%82%AC%F0%9F%98%80", event: { x: "€😀" } },
  {
    rule: "the first and last character of each length are kept",
    query: "x=%C2%80%DF%BF%E0%A0%80%EF%BF%BD%F0%90%80%80%F4%8F%BF%BF",
    event: { x: "\u0080\u07ff\u0800\ufffd\u{10000}\u{10ffff}" },
  },
  {
    rule: "what lies above U+10FFFF is no character",
    query: "x=%F4%90%80%80&y=%F5%80",
    event: { x: "\ufffd\ufffd\ufffd\ufffd", y: "\ufffd\ufffd" },
  },
  { rule: "invalid UTF-8 becomes U+FFFD", query: "x=%FFa%E2%82", event: { x: "\ufffda\ufffd" } },
  { rule: "an overlong form is two errors", query: "x=%C0%AF", event: { x: "\ufffd\ufffd" } },
  { rule: "a surrogate is three errors", query: "x=%ED%A0%80", event: { x: "\ufffd\ufffd\ufffd" } },
  {
    rule: "a malformed escape stays",
    query: "x=100%&y=%zz&z=%4",
    event: { x: "100%", y: "%zz", z: "%4" },
  },
  { rule: "an escape is decoded once", query: "x=%2541", event: { x: "%41" } },
  { rule: "a byte order mark stays", query: "x=%EF%BB%BFa", event: { x: "\ufeffa" } },
  {
    rule: "control characters and quotes survive",
    query: "x=%00%0A%22%5C%7F",
    event: { x: '\0\n"\\\x7f' },
  },
  { rule: "a name without = is empty", query: "x&y=", event: { x: "", y: "" } },
  { rule: "empty names are ignored", query: "=a&&=&x=1", event: { x: "1" } },
  { rule: "only the first = separates", query: "x=a=b", event: { x: "a=b" } },
  { rule: "the first of a repeated name wins", query: "x=1&x=2&%78=3", event: { x: "1" } },
  {
    rule: "the first wins even when it is empty",
    query: "properties.a=&properties.a=1",
    event: { properties: { a: "" } },
  },

  { rule: "dots nest", query: "a.b.c=1&a.b.d=2", event: { a: { b: { c: "1", d: "2" } } } },
  {
    rule: "%2E nests too",
    query: "properties%2Ea%2eb=x",
    event: { properties: { a: { b: "x" } } },
  },
  {
    rule: "an empty component is an empty name",
    query: "properties.=x&a..b=y",
    event: { properties: { "": "x" }, a: { "": { b: "y" } } },
  },
  {
    rule: "names keep the order of arrival",
    query: "b.z=1&a=2&b.y=3",
    event: { b: { z: "1", y: "3" }, a: "2" },
  },
  {
    rule: "an index below nothing makes an array",
    query: "properties.items.0=a&properties.items.1=b",
    event: { properties: { items: ["a", "b"] } },
  },
  {
    rule: "gaps are null",
    query: "properties.a.2=x",
    event: { properties: { a: [null, null, "x"] } },
  },
  { rule: "indices come in any order", query: "a.2=z&a.0=x&a.1=y", event: { a: ["x", "y", "z"] } },
  {
    rule: "arrays of objects and arrays",
    query: "a.0.p=x&a.1.0=y&a.0.q=z",
    event: { a: [{ p: "x", q: "z" }, ["y"]] },
  },
  {
    rule: "below an object an index is a name",
    query: "a.x=1&a.0=2",
    event: { a: { x: "1", 0: "2" } },
  },
  {
    rule: "below an array a name loses",
    query: "a.0=1&a.x=2&a.01=3&a.1000=4&a.1=5",
    event: { a: ["1", "5"] },
  },
  {
    rule: "01, -1 and 1000 are names",
    query: "a.01=x&b.-1=y&c.1000=z",
    event: { a: { "01": "x" }, b: { "-1": "y" }, c: { 1000: "z" } },
  },
  {
    rule: "properties and context are objects always",
    query: "properties.0=a&context.1=b&properties=c&context=d",
    event: { properties: { 0: "a" }, context: { 1: "b" } },
  },
  { rule: "the top is an object", query: "0=a&1.0=b", event: { 0: "a", 1: ["b"] } },
  {
    rule: "a path that meets a scalar loses",
    query: "a=1&a.b=2&c.d=1&c.d.e=2",
    event: { a: "1", c: { d: "1" } },
  },
  { rule: "a scalar that meets an object loses", query: "a.b=1&a=2", event: { a: { b: "1" } } },
  {
    rule: "names of prototypes are names",
    query: "__proto__=a&constructor.prototype.x=b&properties.__proto__.y=c&toString=d",
    event: plain(
      '{"__proto__":"a","constructor":{"prototype":{"x":"b"}},"toString":"d","properties":{"__proto__":{"y":"c"}}}',
    ) as Record<string, unknown>,
  },

  {
    rule: "numbers in properties",
    query:
      "properties.a=0&properties.b=-1.50&properties.c.d=123456789012345&properties.e=0.0000001&properties.f=%31%2E5&properties.g.0=7",
    event: { properties: { a: 0, b: -1.5, c: { d: 123456789012345 }, e: 1e-7, f: 1.5, g: [7] } },
  },
  {
    rule: "what only looks like a number stays a string",
    query:
      "properties.a=007&properties.b=%2B1&properties.c=1e5&properties.d=0x1F&properties.e=1.0.0&properties.f=&properties.g=1.&properties.h=.5&properties.i=-&properties.j=+1",
    event: {
      properties: {
        a: "007",
        b: "+1",
        c: "1e5",
        d: "0x1F",
        e: "1.0.0",
        f: "",
        g: "1.",
        h: ".5",
        i: "-",
        j: " 1",
      },
    },
  },
  {
    rule: "more than 15 significant digits stay a string",
    query:
      "properties.a=1234567890123456&properties.b=0.1234567890123456&properties.c=-123456789012345",
    event: { properties: { a: "1234567890123456", b: "0.1234567890123456", c: -123456789012345 } },
  },
  {
    rule: "numbers below context.screen, strings elsewhere",
    query:
      "context.screen.width=1920&context.screen.x.y=2&context.page.n=1&context.screens.n=1&z=1&userId=42",
    event: {
      userId: "42",
      context: { screen: { width: 1920, x: { y: 2 } }, page: { n: "1" }, screens: { n: "1" } },
      z: "1",
    },
  },
  {
    rule: "context.screen itself stays a string",
    query: "context.screen=5",
    event: { context: { screen: "5" } },
  },

  {
    rule: "one pair of quotes around anonymousId is stripped",
    query: "anonymousId=%22%22amp%22%22",
    event: { anonymousId: '"amp"' },
  },
  {
    rule: "a quote behind a backslash opens no pair",
    query: "anonymousId=%5C%22a%22",
    event: { anonymousId: '\\"a"' },
  },
  {
    rule: "a backslash and a quote around anonymousId are no pair",
    query: "anonymousId=%5Ca%22",
    event: { anonymousId: '\\a"' },
  },
  {
    rule: "a quote at the end is no pair",
    query: "anonymousId=a%22",
    event: { anonymousId: 'a"' },
  },
  { rule: "one quote is no pair", query: "anonymousId=%22a", event: { anonymousId: '"a' } },
  { rule: "userId keeps its quotes", query: "userId=%22u%22", event: { userId: '"u"' } },
  {
    rule: "a blank id is kept as it was sent, and the first one wins",
    query: "userId=&anonymousId=%22+%22&userId=late",
    event: { userId: "", anonymousId: " " },
  },
  { rule: "an absent page name is no field", query: "x=1", event: { x: "1" } },
  { rule: "a blank page name", query: "name=+%09", event: { name: "Unknown Page" } },
  {
    rule: "a blank name of a track event",
    type: "track",
    query: "event=e&name=",
    event: { event: "e", name: "" },
  },
  {
    rule: "other parameters are strings",
    query: "random=1&a.b=true",
    event: { random: "1", a: { b: "true" } },
  },
  {
    rule: "the service's own fields are ignored",
    query:
      "type=x&messageId=x&originalTimestamp=x&sentAt=x&receivedAt=x&channel=x&request_ip=x&integrations.All=false&integrations=x&type.a=x&writeKey.a=x&event=x&event.a=x",
    event: {},
  },
  {
    rule: "ids and names have nothing below them",
    type: "track",
    query: "userId.a=1&name.first=2&event.a=3&event=e&name=n",
    event: { event: "e", name: "n" },
  },
];
