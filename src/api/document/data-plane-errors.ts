/** Schema of the body of every error of the data plane. */
const schema = {
  type: "object",
  required: ["message", "code"],
  properties: {
    message: { type: "string", description: "One sentence; never the input" },
    code: { type: "integer", description: "The status" },
  },
};

/** Returns OpenAPI objects of error responses. `descriptions` has a sentence per status. */
export function errorResponses(descriptions: Record<number, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => {
      const example = { message: "Invalid write key", code: Number(status) };
      return [status, { description, content: { "application/json": { schema, example } } }];
    }),
  );
}
