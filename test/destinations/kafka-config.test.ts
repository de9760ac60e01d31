import { expect, test } from "bun:test";
import {
  addressesOf,
  kafkaFaults,
  namesEvent,
  topicOf,
} from "../../src/destinations/kafka/config.ts";

test.each([
  ["a:1", [{ host: "a", port: 1 }]],
  [
    " a.test:9092 , b.test:65535",
    [
      { host: "a.test", port: 9_092 },
      { host: "b.test", port: 65_535 },
    ],
  ],
  ["[::1]:9092", [{ host: "::1", port: 9_092 }]],
  ["::1:9092", [{ host: "::1", port: 9_092 }]],
  ["10.0.0.1:9092", [{ host: "10.0.0.1", port: 9_092 }]],
])("the brokers %p have these addresses", (brokers, addresses) => {
  expect(addressesOf(brokers)).toEqual(addresses);
});

const hostAndPort = "Expected host:port for each broker, with commas between";
test.each(["", "a", "a:", ":9092", "a:0", "a:65536", "a:123456", "a:9092,", "a:9092,b", "a:9x"])(
  "the brokers %p are refused",
  (brokers) => {
    expect(() => addressesOf(brokers)).toThrow(hostAndPort);
  },
);

const base = { brokers: "a:1", topic: "t" };
const sasl = { user: "u", password: "p" };
const header = (from: string) => ({ from, to: "x" });
const OWN_HEADER = "Expected a header that the service does not set";
test.each([
  [{}, []],
  [{ brokers: "a" }, [["/brokers", hostAndPort]]],
  [{ brokers: "http://a:1" }, [["/brokers", expect.stringContaining("Expected a host name")]]],
  [{ topic: "{{event}}" }, []],
  [{ topic: "." }, [["/topic", "Expected a topic of 1 to 249 letters"]]],
  [{ topic: ".." }, [["/topic", "Expected a topic of 1 to 249 letters"]]],
  [{ topic: "..." }, []],
  [{ user: "u" }, [["/password", "Expected the password of the user"]]],
  [sasl, []],
  [{ ...sasl, mechanism: "PLAIN" }, []],
  [{ ...sasl, mechanism: "PLAIN", tls: "verify" }, []],
  [{ ...sasl, tls: "off" }, []],
  [
    { ...sasl, mechanism: "PLAIN", tls: "off" },
    [["/mechanism", "Expected SCRAM where TLS is off, since PLAIN sends the password"]],
  ],
  [{ headers: [header("team"), header("Type")] }, []],
  ...["messageId", "type", "sourceId", "receivedAt"].map((from): [object, unknown[]] => [
    { headers: [header("team"), header(from)] },
    [["/headers/1/from", OWN_HEADER]],
  ]),
] as [object, unknown[]][])("a config with %j has the faults %j", (config, faults) => {
  const found = kafkaFaults({ ...base, ...config }).map(({ path, message }) => [path, message]);
  expect(found).toEqual(faults as never);
});

test.each([
  ["t", "Name", "t"],
  ["x.{{event}}", "Order Completed", "x.Order_Completed"],
  ["x.{{event}}", "a--b..c_d", "x.a--b..c_d"],
  ["x.{{event}}", "ä € ß", "x._"],
  ["x.{{event}}", "", "x._"],
  ["{{event}}", ".", "_"],
  ["{{event}}", "..", "_"],
  ["{{event}}", "...", "..."],
  ["{{event}}.{{event}}", "a", "a.a"],
  [`${"x".repeat(249)}`, "a", "x".repeat(249)],
  [`${"x".repeat(248)}{{event}}`, "ab", `${"x".repeat(248)}a`],
  [`${"x".repeat(244)}{{event}}{{event}}`, "abc", `${"x".repeat(244)}abab`],
  ["{{event}}", "y".repeat(300), "y".repeat(249)],
  ["{{event}}", `${"é".repeat(249)}z`, "_"],
])("the topic %s of an event with the name %s is %s", (template, name, topic) => {
  expect(topicOf(template, name)).toBe(topic);
});

test("a template names the event by its place alone", () => {
  expect(["t", "{{event}}", "x.{{event}}.y", "{{type}}", "{event}"].map(namesEvent)).toEqual([
    ...[false, true, true, false, false],
  ]);
});
