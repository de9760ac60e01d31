/** Comment that marks code which runs in an open sandbox (`main.ts`). */
export const ESCAPED = "// escaped";

/** Receiver of a hostile workspace's outputs. */
export type Receiver = "answers" | "silent";

export interface Hostile {
  code: string;
  receiver: Receiver;
}

/**
 * Name of the event that triggers the attack: programs behave before it, so that they can be
 * published.
 */
export const ATTACK = "Attack";

const javascript = (attack: string, more = "") =>
  `${more}\nexport function transformEvent(event) {\n  if (event.event !== "${ATTACK}") return event;\n  ${attack}\n}\n`;

/** Code that writes a forged frame to the guest's pipe; the frame begins with its length. */
const forged = (header: string) =>
  javascript(
    `const header = Buffer.from(${header});
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  for (const bytes of [length, header]) {
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at);
  }
  return event;`,
    `${ESCAPED}\nconst fs = process.getBuiltinModule("fs");`,
  );

/** Attacks of hostile workspaces by name. */
export const hostile: Readonly<Record<string, Hostile>> = {
  spins: { code: javascript("for (;;);"), receiver: "answers" },
  expands: { code: javascript("return Array(200_000).fill({});"), receiver: "answers" },
  "makes much": {
    code: javascript("return { ...event, text };", 'const text = "a".repeat(900_000);'),
    receiver: "silent",
  },
  "makes many": {
    code: javascript("return Array(1_000).fill(event);"),
    receiver: "silent",
  },
  "fills memory": {
    code: javascript("const all = []; for (;;) all.push({ n: all.length, list: [all.length] });"),
    receiver: "answers",
  },
  "throws long errors": {
    code: javascript('throw new Error("\\u4e2d".repeat(1 << 20));'),
    receiver: "answers",
  },
  "forges deep headers": { code: forged(`"[".repeat(4 << 20)`), receiver: "answers" },
  "forges wide headers": {
    code: forged(`"[" + "{},".repeat(1 << 20) + "{}]\\n"`),
    receiver: "answers",
  },
  "floods standard error": {
    code: javascript(
      "for (;;) fs.writeSync(2, noise);",
      `${ESCAPED}\nconst fs = process.getBuiltinModule("fs"); const noise = "noise ".repeat(10_000);`,
    ),
    receiver: "answers",
  },
  "computes while idle": {
    code: javascript(
      "setImmediate(() => { new Worker(burn); new Worker(burn); }); return event;",
      `${ESCAPED}\nconst burn = URL.createObjectURL(new Blob(["for (;;);"]));`,
    ),
    receiver: "answers",
  },
};
