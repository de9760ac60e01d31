import { describe, expect, test } from "bun:test";
import {
  columnOfSyntaxError,
  LoadError,
} from "../../../src/sandbox/guest/javascript/program-module.ts";
import {
  callerIn,
  eventError,
  filesOf,
  libraryFile,
  loadError,
  MAIN_FILE,
  shortened,
  syntaxError,
} from "../../../src/sandbox/guest/javascript/user-errors.ts";
import { toV8Column, toV8Message } from "../../../src/sandbox/guest/javascript/v8-messages.ts";
import { GUEST_ERRORS_CHARS_MAX } from "../../../src/sandbox/guest-limits.ts";
import { GUEST_ERROR_CHARS_MAX } from "../../../src/settings/limits.ts";

const code = "export function transformEvent(event) {\n  return event.a.b;\n}\n";
const files = filesOf("My T", code, [{ importName: "tools", code: "\nthrow new Error(1);" }]);
const [main, library] = [files.get(MAIN_FILE)!, files.get(libraryFile(0))!];

const frame = (caller: string, file: string, line: number, column: number) =>
  `    at ${caller === "" ? "" : `${caller} (`}${file}:${line}:${column}${caller === "" ? "" : ")"}`;

describe("an error of an event", () => {
  test("has the frames of the user's files, up to the entry point", () => {
    const stack = [
      "TypeError: no",
      frame("help", libraryFile(0), 2, 11),
      frame("forEach", "native", 1, 1),
      frame("async inner", MAIN_FILE, 1, 8),
      frame("", MAIN_FILE, 2, 3),
      frame("transformEvent", MAIN_FILE, 2, 10),
      frame("outer", MAIN_FILE, 3, 1),
    ].join("\n");
    expect(eventError("no", stack, files)).toEqual({
      message: [
        "TypeError: no",
        "    at help (library tools:2:11)",
        "    at inner (My T:1:8)",
        "    at <anonymous> (My T:2:3)",
        "    at transformEvent (My T:2:10)",
      ].join("\n"),
      ...{ line: 2, column: 11, library: "tools" },
    });
  });

  test("continues below a library's function that is named as an entry point", () => {
    const stack = [
      "Error: no",
      frame("transformBatch", libraryFile(0), 2, 1),
      frame("transformBatch", MAIN_FILE, 3, 1),
      frame("outer", MAIN_FILE, 3, 1),
    ].join("\n");
    const { message, ...place } = eventError("no", stack, files);
    expect(message.split("\n").slice(1)).toEqual([
      "    at transformBatch (library tools:2:1)",
      "    at transformBatch (My T:3:1)",
    ]);
    expect(place).toEqual({ line: 2, column: 1, library: "tools" });
  });

  test("has its message alone without a stack, or without a frame of the user", () => {
    expect(eventError("just a text", "", files)).toEqual({ message: "just a text" });
    const native = `Error: two\nlines\n${frame("map", "native", 1, 1)}`;
    expect(eventError("two\nlines", native, files)).toEqual({ message: "Error: two\nlines" });
    const unknown = `Error: no\n${frame("f", libraryFile(7), 1, 1)}`;
    expect(eventError("no", unknown, files)).toEqual({ message: "Error: no" });
  });

  test("is at the column that V8 would report", () => {
    // JavaScriptCore reports the dot before `b`.
    const stack = `TypeError: no\n${frame("transformEvent", MAIN_FILE, 2, 17)}`;
    expect(eventError("no", stack, files)).toMatchObject({ line: 2, column: 18 });
    const behind = `TypeError: no\n${frame("transformEvent", MAIN_FILE, 99, 3)}`;
    expect(eventError("no", behind, files)).toMatchObject({ line: 99, column: 3 });
  });

  test("is cut", () => {
    const long = "x".repeat(GUEST_ERROR_CHARS_MAX + 1);
    expect(eventError(long, "", files).message).toHaveLength(GUEST_ERROR_CHARS_MAX);
    const { userError } = new LoadError(loadError(long, "", files));
    expect(userError.message).toHaveLength(GUEST_ERROR_CHARS_MAX);
  });
});

test("an error while code is loaded has its position, and no frames in its message", () => {
  const stack = `Error: no\n${frame("module code", libraryFile(0), 2, 7)}`;
  expect(loadError("no", stack, files)).toEqual({
    ...{ message: "Error: no", line: 2, column: 7, library: "tools" },
  });
});

test("a syntax error names the file and the position", () => {
  expect(syntaxError("Unexpected token ';'", main, 2, 13)).toEqual({
    ...{ message: "SyntaxError: Unexpected token ';' [My T:2:13]", line: 2, column: 13 },
  });
  expect(syntaxError("Unexpected end", library, 1, 1)).toEqual({
    message: "SyntaxError: Unexpected end [library tools:1:1]",
    ...{ line: 1, column: 1, library: "tools" },
  });
});

test("the caller of a function is the first frame in the user's files", () => {
  const stack = [
    frame("log", "native", 9, 9),
    frame("help", libraryFile(0), 2, 1),
    frame("transformEvent", MAIN_FILE, 3, 1),
  ];
  expect(callerIn(stack.join("\n"), files)).toEqual({ line: 2, library: "tools" });
  expect(callerIn(stack[2]!, files)).toEqual({ line: 3 });
  expect(callerIn(stack[0]!, files)).toEqual({});
});

test("errors of one reply are shortened once they are long together", () => {
  const error = (chars: number) => ({ message: "x".repeat(chars), line: 1, library: "tools" });
  const size = JSON.stringify(error(0)).length;
  const fits = error(GUEST_ERRORS_CHARS_MAX - size);
  const plain = { message: "y".repeat(200) };
  expect(shortened([fits])).toEqual([fits]);
  expect(shortened([fits, error(200), plain])).toEqual([
    fits,
    { message: "x".repeat(100), line: 1 },
    { message: "y".repeat(100) },
  ]);
  expect(shortened([error(GUEST_ERRORS_CHARS_MAX - size + 1)])[0]!.message).toHaveLength(100);
});

describe("messages of JavaScriptCore", () => {
  test.each([
    [
      "TypeError: undefined is not an object (evaluating 'event.a.b')",
      "TypeError: Cannot read properties of undefined (reading 'b')",
    ],
    ["null is not an object (evaluating 'x[3]')", "Cannot read properties of null (reading '3')"],
    [
      "undefined is not an object (evaluating 'x['a b']')",
      "Cannot read properties of undefined (reading 'a b')",
    ],
    [
      "undefined is not an object (evaluating 'x[\"a\"]')",
      "Cannot read properties of undefined (reading 'a')",
    ],
    [
      "undefined is not an object (evaluating 'x.a = 1')",
      "Cannot set properties of undefined (setting 'a')",
    ],
    [
      "undefined is not an object (evaluating 'x[y]')",
      "undefined is not an object (evaluating 'x[y]')",
    ],
    [
      "TypeError: x.f is not a function. (In 'x.f(1)', 'x.f' is undefined)",
      "TypeError: x.f is not a function",
    ],
    ["undefined is not a constructor (evaluating 'new a.B(1)')", "a.B is not a constructor"],
    ["JSON.stringify cannot serialize cyclic structures.", "Converting circular structure to JSON"],
    ["JSON.stringify cannot serialize BigInt.", "Do not know how to serialize a BigInt"],
    [
      "RangeError: Out of memory",
      "RangeError: Out of memory: allocation failed at the memory limit",
    ],
    ["Maximum call stack size exceeded.", "Maximum call stack size exceeded"],
    ["Cannot access 'x' before initialization.", "Cannot access 'x' before initialization"],
    ["Unexpected token ';'. Expected a name.", "Unexpected token ';'"],
    ["Error: a message of the user.", "Error: a message of the user."],
    ["", ""],
  ])("%s is shown as %s", (message, shown) => {
    expect(toV8Message(message)).toBe(shown);
  });

  test.each([
    ["return a.b;", 9, 10],
    ["return a.b;", 8, 8],
    ["call(1)", 5, 1],
    ["  new a.B(1)", 10, 3],
    ["await import('x')", 13, 1],
    ["this.#f (1)", 9, 6],
    ["(1)", 1, 1],
    ["", 5, 5],
  ])("the position in %j at column %p is that of V8 at %p", (line, column, expected) => {
    expect(toV8Column(line, column)).toBe(expected);
  });

  test("a position behind a long text in the same line is found without trying each part of it", () => {
    const line = `const data = "${"0123456789abcdef".repeat(20_000)}"; call(1)`;
    expect(toV8Column(line, line.indexOf("(") + 1)).toBe(line.indexOf("call") + 1);
  });
});

test("the column of a syntax error is found in the line that is known", () => {
  const broken = "const a = 1;\nconst b = = 2;\n";
  expect(columnOfSyntaxError(broken, 2)).toBe(11);
  expect(columnOfSyntaxError(broken, 1)).toBe(1);
  expect(columnOfSyntaxError("const a = 1;", 1)).toBe(1);
});
