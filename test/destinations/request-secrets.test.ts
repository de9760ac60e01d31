import { describe, expect, test } from "bun:test";
import { secretsOfConfig, secretsOfRequest } from "../../src/destinations/request-secrets.ts";

const ofHeaders = (headers: Record<string, string>) =>
  secretsOfRequest({ headers, url: "https://a.test/" });
const ofUrl = (url: string) => secretsOfRequest({ headers: {}, url });

describe("the secrets of a request", () => {
  test("are the values of its headers, but not those that name no secret", () => {
    const open = [
      ...["Accept", "accept-charset", "accept-encoding", "accept-language", "cache-control"],
      ...["content-encoding", "content-length", "Content-Type", "date", "host", "user-agent"],
      ...["webhook-id", "webhook-timestamp", "x-amz-content-sha256", "x-amz-date"],
      "x-clickhouse-user",
    ];
    expect(ofHeaders(Object.fromEntries(open.map((name) => [name, "value"])))).toEqual([]);
    expect(ofHeaders({ "x-api-key": "value" })).toEqual(["value"]);
  });

  test("are credentials with and without their scheme, and user and password of Basic", () => {
    expect(ofHeaders({ a: "Bearer token x" })).toEqual(["Bearer token x", "token x"]);
    const basic = Buffer.from("user:pass:word").toString("base64");
    expect(ofHeaders({ a: `BASIC ${basic}` })).toEqual([
      ...[`BASIC ${basic}`, basic, "user:pass:word", "pass:word"],
    ]);
  });

  test("are user, password, values of the query and tokens in the path of a URL", () => {
    expect(ofUrl("https://us%41r:pw@a.test/")).toEqual(["us%41r", "usAr", "pw", "pw"]);
    const query = ofUrl("https://a.test/?k=abc&l=abcd&m=%41bcd&n");
    expect([...new Set(query)]).toEqual(["abcd", "Abcd", "%41bcd"]);
    const [long, digits] = ["abcdefghijklmnop", "abcdefg1"];
    expect([...new Set(ofUrl(`https://a.test/${long}/${digits}`))]).toEqual([long, digits]);
    expect(ofUrl("https://a.test/abcdefghijklmno/abcdef1/abcdefgh")).toEqual([]);
    expect(ofUrl("https://a.test/%zzabcdefghijklmn")).toEqual([
      ...["%zzabcdefghijklmn", "%zzabcdefghijklmn"],
    ]);
    expect(ofUrl("no URL")).toEqual([]);
  });
});

describe("the secrets of a config", () => {
  const secretKeys = [
    { path: "token" },
    { path: "headers.to", isSecret: ({ isOpen }: Record<string, unknown>) => isOpen !== true },
    { path: "list.to" },
  ];
  const maskedKeys = ["url", "deep.url"].map((path) => ({ path, shown: () => "" }));
  const kind = { secretKeys, maskedKeys } as never;
  const config = {
    ...{ token: "Bearer t", url: "https://a.test/?k=query", deep: { url: "https://u:p@a.test/" } },
    headers: [{ to: "h1" }, { to: "h2", isOpen: true }, { to: "" }, "text"],
    list: { to: "l" },
  };

  test("are the values of its secret keys, and the secret parts of its URLs", () => {
    const found = [...new Set(secretsOfConfig(kind, config))];
    expect(found).toEqual(["Bearer t", "t", "h1", "l", "query", "u", "p"]);
    expect(secretsOfConfig(kind, { deep: "https://x:y@a.test/" })).toEqual(["x", "x", "y", "y"]);
    expect(secretsOfConfig({ secretKeys } as never, config)).not.toContain("query");
  });

  test("are path and query of a URL of which the API shows only the host", () => {
    const shown = ({ isHidden }: Record<string, unknown>) =>
      isHidden ? "https://a.test/***" : "https://a.test/in/k3y?x=***";
    const masked = { secretKeys: [], maskedKeys: [{ path: "url", shown }] } as never;
    const url = "https://a.test/in/k3y?x=1";
    expect(secretsOfConfig(masked, { url, isHidden: true })).toEqual(["/in/k3y", "?x=1"]);
    expect(secretsOfConfig(masked, { url, isHidden: false })).toEqual([]);
    expect(secretsOfConfig(masked, { url: "https://a.test/", isHidden: true })).toEqual([]);
    expect(secretsOfConfig(masked, { isHidden: true })).toEqual([]);
  });

  test("are those of the form in which it is written", () => {
    const form = { secretKeys: [{ path: "url" }] };
    const other = { ...(kind as object), formOf: () => form } as never;
    expect(secretsOfConfig(other, config)).toEqual([config.url]);
  });
});
