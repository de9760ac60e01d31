import { afterAll, expect, test } from "bun:test";
import { hastyPython, pythonSandbox } from "../sandbox/python/support.ts";
import { freshTransformer } from "./_setup.ts";

const sandbox = pythonSandbox({ limits: hastyPython });
afterAll(() => sandbox.close());

const code = `
def transformEvent(event, metadata):
    while event.get("loops"):
        pass
    return event
`;

test("a request with 20 endless events in Python is answered, and its event before them has run", async () => {
  const house = await freshTransformer({ sandbox, costlyMsMax: 0 });
  const { versionId } = await house.publish("transformation", code, { language: "python" });
  const messages = [
    { messageId: "first" },
    ...Array.from({ length: 20 }, (_, n) => ({ messageId: `m${n}`, loops: true })),
  ];
  const { status, body } = await house.send(messages.map((it) => house.item(versionId, it)));
  expect(status).toBe(200);
  expect(body.map((it: any) => it.error)).toEqual([
    undefined,
    ...Array(4).fill("Script execution timed out."),
    ...Array(16).fill("Not run: 4 other events of the request were stopped"),
  ]);
});
