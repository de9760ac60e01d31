/** Defines a flag with a value. Usage texts show `valueHint` in place of the value. */
export const textFlag = (description: string, valueHint = "text") =>
  ({ type: "string", description, valueHint }) as const;

/** Defines a flag without a value. */
export const switchFlag = (description: string) => ({ type: "boolean", description }) as const;
