import { expect, test } from "bun:test";
import { errorFields } from "../../src/observe/log.ts";

test("an error of many attempts is logged with the reason of the last one", () => {
  const attempts = Array.from({ length: 60 }, (_, index) => {
    return new AggregateError([new Error(`connect ECONNREFUSED ${index}`)], "No connection");
  });
  const fields = errorFields(new AggregateError(attempts, "metadata failed 60 times"));
  expect(fields).toMatchObject({
    message: "metadata failed 60 times",
    reason: "connect ECONNREFUSED 59",
  });
  expect(JSON.stringify(fields).length).toBeLessThan(5_000);
});

test("an error of one cause is logged with its own fields", () => {
  const fields = errorFields(new Error("No", { cause: new Error("Because") }));
  expect(fields).toMatchObject({ type: "Error", message: "No: Because" });
  expect(fields).not.toHaveProperty("reason");
});
