import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { get, openListener, send, WRITE_KEY } from "./harness.ts";

/** The request target may have 32,768 bytes, however it is filled and however it arrives. */

const START = `/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;

function padded(start: string, piece: string, bytes: number): string {
  const pieces = Math.floor((bytes - start.length) / piece.length);
  const target = start + piece.repeat(pieces);
  // The remaining bytes go into the value of the id, where they change nothing.
  return target.replace("anonymousId=a", `anonymousId=a${"a".repeat(bytes - target.length)}`);
}

const fillings = {
  "one long value": (bytes: number) => padded(`${START}&properties.x=`, "y", bytes),
  "many small parameters": (bytes: number) =>
    padded(START, "&properties.abcdefghijklmnopqrst=12345", bytes),
  "all percent-encoded": (bytes: number) => padded(`${START}&properties.x=`, "%E2%82%AC", bytes),
  "plus signs": (bytes: number) => padded(`${START}&properties.x=`, "+", bytes),
};

let server: ReturnType<typeof openListener>;
beforeAll(() => {
  server = openListener();
});
afterAll(() => server.stop());

describe("the target of a request", () => {
  for (const [filling, target] of Object.entries(fillings)) {
    for (const [bytes, status] of [
      [32_767, 200],
      [32_768, 200],
      [32_769, 414],
    ] as const) {
      test(`of ${bytes} bytes, ${filling}`, async () => {
        const request = get(target(bytes));
        expect(request.indexOf(" HTTP/1.1") - "GET ".length).toBe(bytes);
        const pieces = request.match(/.{1,1400}/gs)!;
        for (const answer of [
          await send(server.port, request),
          await send(server.port, ...pieces),
        ]) {
          expect(answer.status).toBe(status);
          if (status === 414) {
            expect(JSON.parse(answer.body)).toEqual({
              message: "Expected a URL of at most 32768 bytes",
              code: 414,
            });
          }
        }
      });
    }
  }

  test("of 32,768 bytes arrives whole", async () => {
    const answer = await send(server.port, get(fillings["all percent-encoded"](32_768)));
    expect(answer.status).toBe(200);
    const { x } = server.events().at(-1)!.properties;
    expect(x).toMatch(/^€+$/);
    expect(x.length).toBeGreaterThan(3_600);
  });

  for (const bytes of [33_000, 65_536, 200_000, 250_000]) {
    test(`of ${bytes} bytes is refused with a JSON body`, async () => {
      const answer = await send(server.port, get(fillings["one long value"](bytes)));
      expect(answer.status).toBe(414);
      expect(JSON.parse(answer.body).message).toBe("Expected a URL of at most 32768 bytes");
    });
  }

  test("of any length elsewhere is not found", async () => {
    expect((await send(server.port, get(`/${"x".repeat(40_000)}`))).status).toBe(404);
  });
});
