import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Guest } from "../../../src/sandbox/process/guest.ts";
import { languageProfiles } from "../../../src/sandbox/process/language-profiles.ts";
import { parseInspectReply, parseLoadReply } from "../../../src/sandbox/protocol/reply-parser.ts";
import { batch, guestCommand, library, PATIENCE_MS, shown } from "../support.ts";
import { dedent, hastyPython, python, pythonSandbox, runLogged } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = pythonSandbox();
/** For code that loops. */
const strict = pythonSandbox({ limits: hastyPython });
afterAll(() => Promise.all([sandbox.close(), strict.close()]));

const TIMED_OUT = "Script execution timed out.";

const libraries = [
  library("myLib", "import sibling\ndef f(n):\n    return sibling.double(n)\n"),
  library("sibling", "def double(n):\n    return n * 2\n"),
  library("broken", "def broken(:\n    pass\n"),
  library("falls", "def f():\n    return 1\n\nx = 1 / 0\n"),
  library("reaches", "import os\n"),
];
const RIGHT = "def transformEvent(event, metadata):\n    return event\n";

const loadErrors: [name: string, code: string, error: object][] = [
  [
    "a syntax error with its place",
    "def transformEvent(event, metadata)\n    return event\n",
    { message: "SyntaxError: expected ':' [My T:1:36]", line: 1, column: 36 },
  ],
  [
    "a bracket that stays open",
    `${RIGHT}x = (1,\n`,
    { message: "SyntaxError: '(' was never closed [My T:3:5]", line: 3, column: 5 },
  ],
  [
    "a wrong indentation",
    "def transformEvent(event, metadata):\nreturn event\n",
    {
      message:
        "IndentationError: expected an indented block after function definition on line 1 [My T:2:1]",
      line: 2,
      column: 1,
    },
  ],
  [
    "tabs and spaces",
    "def transformEvent(event, metadata):\n\tif event:\n        return event\n",
    {
      message: "TabError: inconsistent use of tabs and spaces in indentation [My T:3:1]",
      line: 3,
      column: 1,
    },
  ],
  [
    "a return at the top",
    "return 1\n",
    { message: "SyntaxError: 'return' outside function [My T:1:1]", line: 1, column: 1 },
  ],
  [
    "a null byte",
    "x = 1\0\n",
    {
      message: "SyntaxError: source code string cannot contain null bytes [My T:1:1]",
      line: 1,
      column: 1,
    },
  ],
  [
    "no entry point",
    "import json\ndef transform(event):\n    return event\nclass C:\n    pass\n",
    { message: "Error: Expected one of transformEvent,transformBatch. Found transform" },
  ],
  ["no code", "", { message: "Error: Expected one of transformEvent,transformBatch. Found " }],
  [
    "an entry point that is no function",
    "transformEvent = 5\n",
    { message: "Error: Expected one of transformEvent,transformBatch. Found " },
  ],
  [
    "two entry points",
    "def transformEvent(event, metadata): pass\ndef transformBatch(events, metadata): pass\n",
    {
      message:
        "Error: Expected one of transformEvent,transformBatch. Found transformEvent,transformBatch",
    },
  ],
  [
    "a module that is not allowed",
    `import json, os\n${RIGHT}`,
    { message: "ImportError: Import of 'os' is not allowed. [My T:1:14]", line: 1, column: 14 },
  ],
  [
    "a submodule that is not allowed",
    `from urllib.request import urlopen\n${RIGHT}`,
    {
      message: "ImportError: Import of 'urllib.request' is not allowed. [My T:1:1]",
      line: 1,
      column: 1,
    },
  ],
  [
    "a submodule taken from its package",
    `from urllib import request\n${RIGHT}`,
    { message: "ImportError: Import of 'urllib.request' is not allowed.", line: 1, column: 1 },
  ],
  [
    "an unknown module inside a function",
    "def transformEvent(event, metadata):\n    import nowhere\n",
    {
      message: "ImportError: Import of 'nowhere' is not allowed. [My T:2:12]",
      line: 2,
      column: 12,
    },
  ],
  [
    "a relative import",
    `from . import json\n${RIGHT}`,
    { message: "ImportError: Relative imports are not allowed. [My T:1:1]", line: 1, column: 1 },
  ],
  [
    "an unknown name of a library",
    `from sibling import triple\n${RIGHT}`,
    {
      message: "ImportError: cannot import name 'triple' from 'sibling'",
      line: 1,
      column: 1,
    },
  ],
  [
    "a broken library",
    `import broken\n${RIGHT}`,
    {
      message: "SyntaxError: invalid syntax [library broken:1:12]",
      line: 1,
      column: 12,
      library: "broken",
    },
  ],
  [
    "a library that throws",
    `import falls\n${RIGHT}`,
    { message: "ZeroDivisionError: division by zero", line: 4, column: 5, library: "falls" },
  ],
  [
    "a library that imports what is not allowed",
    `import reaches\n${RIGHT}`,
    {
      message: "ImportError: Import of 'os' is not allowed. [library reaches:1:8]",
      line: 1,
      column: 8,
      library: "reaches",
    },
  ],
  ["a raise at the top", `x = {}["é"]\n${RIGHT}`, { message: "KeyError: 'é'", line: 1, column: 5 }],
  ["an endless top level", "while True: pass\n", { message: TIMED_OUT }],
];

test.each(loadErrors)("code does not load for %s", async (_, code, error) => {
  const loops = "message" in error && error.message === TIMED_OUT;
  const one = python(code, { libraries });
  const outcomes = await (loops ? strict : sandbox).run(one, batch({}));
  expect(outcomes).toEqual([{ error }] as never);
});

test("check runs test events and keeps logs", async () => {
  const code = `
    import myLib
    def transformEvent(event, metadata):
        log("n is", event["n"], None, True, 1.5, [1, "é"], {"a": {"b": 1}}, {1, }, print)
        return {"n": myLib.f(event["n"]), "sibling": myLib.sibling.double(3)}
  `;
  const report = await sandbox.check(python(code, { libraries }), batch({ n: 1 }, { n: "x" }, {}));
  expect(shown(report.outcomes)).toEqual([
    [{ n: 2, sibling: 6 }],
    [{ n: "xx", sibling: 6 }],
    "KeyError: 'n'\n    at transformEvent (My T:3:17)",
  ]);
  const rest = 'None True 1.5 [1,"é"] {"a":{"b":1}} {1} <built-in function print>';
  expect(report.logs).toEqual([
    { text: `Log: n is 1 ${rest}`, event: 0, line: 3 },
    { text: `Log: n is x ${rest}`, event: 1, line: 3 },
  ]);
  expect(report.error).toBeUndefined();
});

test("log of a Python value that cannot be shown fails no event", async () => {
  const code = `
    class Odd:
        def __str__(self):
            raise RuntimeError
    def transformEvent(event, metadata):
        log(Odd(), {"n": 9 ** 9999}, 9 ** 9999, {"a": {1}})
        return event
  `;
  const { outcomes, logs } = await runLogged(sandbox, python(code), batch({ n: 1 }));
  expect(outcomes).toEqual([[{ n: 1 }]]);
  const hidden = "(a value that cannot be shown)";
  expect(logs).toMatchObject([{ text: `Log: ${hidden} ${hidden} ${hidden} {'a': {1}}` }]);
});

test("a broken library that nothing imports does not matter", async () => {
  const outcomes = await sandbox.run(python(RIGHT, { libraries }), batch({ n: 1 }));
  expect(shown(outcomes)).toEqual([[{ n: 1 }]]);
});

const inspections: [name: string, code: string, inspection: object][] = [
  ["nothing", "x = 1", { imports: [] }],
  [
    "all forms, in code order, once",
    `
      """import docstring"""
      import json, hashlib as h
      # import comment
      from datetime import datetime, date
      if x:
          import myLib
      def f():
          from urllib.parse import quote
          import json, base64
      class C:
          import collections.abc
      s = "import text"
      import last
    `,
    {
      imports: [
        "json",
        "hashlib",
        "datetime",
        "myLib",
        "urllib.parse",
        "base64",
        "collections.abc",
        "last",
      ],
    },
  ],
  ["names that are not allowed too", "import os\nfrom . import x", { imports: ["os"] }],
  [
    "no code that does not parse",
    "import json\nimport",
    {
      imports: [],
      error: {
        message: "SyntaxError: Expected one or more names after 'import' [code:2:7]",
        line: 2,
        column: 7,
      },
    },
  ],
];

/** One guest, asked directly: the sandbox starts a guest for each check. */
let guest: Guest;
beforeAll(async () => {
  guest = new Guest(guestCommand, "python", languageProfiles.python);
  await guest.start(false);
});
afterAll(() => guest.kill("retired"));
const allowance = { cpuMs: 30_000, wallMs: PATIENCE_MS, replyBytesMax: 1 << 20 };

test.each(inspections)("inspect lists %s", async (_, code, inspection) => {
  const request = { kind: "inspect", code: dedent(code) } as const;
  const found = await guest.request(request, [], allowance, parseInspectReply);
  expect(found).toEqual(inspection as never);
});

const libraryErrors: [what: string, importName: string, code: string, error: unknown][] = [
  ["imports others", "importing", "import myLib, json\nx = myLib.f(1)", undefined],
  [
    "imports what is not allowed",
    "alone",
    "import nowhere",
    {
      message: "ImportError: Import of 'nowhere' is not allowed. [library alone:1:8]",
      line: 1,
      column: 8,
      library: "alone",
    },
  ],
  [
    "throws",
    "thrower",
    "\nraise ValueError('é')",
    { message: "ValueError: é", line: 2, column: 1, library: "thrower" },
  ],
  [
    "has a module's name",
    "json",
    "x = 1",
    { message: "ImportError: 'json' is a standard module's name" },
  ],
];

test.each(libraryErrors)(
  "a library that %s is loaded alone",
  async (_, importName, code, error) => {
    const request = { kind: "library", importName, code, libraries, budgetMs: 5_000 } as const;
    const failure = await guest.request(request, [], allowance, parseLoadReply);
    expect(failure?.error).toEqual(error as never);
  },
);

test("a library is checked alone, up to its time", async () => {
  const endless = library("endless", "while True: pass");
  expect(await strict.checkLibrary("w1", "python", endless, libraries)).toEqual({
    message: TIMED_OUT,
  });
});
