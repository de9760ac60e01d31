import { expect, test } from "bun:test";
import { topicIds } from "../../src/first-start/data-directory.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

test("the ids of a node's topics are kept, and refused to a cluster of another name", () => {
  const data = temporaryDirectory();
  const configOf = (name: string) =>
    loadConfig({}, { PIXELMILL_DATA: data, PIXELMILL_CLUSTER_NAME: name });
  const ids = topicIds(configOf("one-name"));
  expect(ids.get("one-name.catalog")).toBeUndefined();
  ids.put("one-name.catalog", "first");
  ids.put("one-name.ledgers", "other");
  ids.put("one-name.catalog", "second");
  const again = topicIds(configOf("one-name"));
  expect(again.get("one-name.catalog")).toBe("second");
  expect(again.get("one-name.ledgers")).toBe("other");
  expect(() => topicIds(configOf("one"))).toThrow(
    `Expected the cluster.name one-name, which the data directory ${data} belongs to, got one`,
  );
  removeDirectory(data);
});
