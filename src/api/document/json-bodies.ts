/** Schema of the body of every error response of the data plane. */
const schema = {
  type: "object",
  required: ["message", "code"],
  properties: {
    message: { type: "string", description: "One sentence; never the input" },
    code: { type: "integer", description: "The status" },
  },
};

/** Returns the OpenAPI object of a request that has a body in JSON. */
export function jsonRequest(schema: object, example: unknown) {
  return { required: true, content: { "application/json": { schema, example } } };
}

/** Returns the OpenAPI object of a response whose body is JSON. */
export function jsonAnswer(description: string, schema: object, example: unknown) {
  return { description, content: { "application/json": { schema, example } } };
}

/** Returns OpenAPI objects of error responses. `descriptions` has a sentence per status. */
export function errorResponses(descriptions: Record<number, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => {
      const example = { message: "Invalid write key", code: Number(status) };
      return [status, jsonAnswer(description, schema, example)];
    }),
  );
}
