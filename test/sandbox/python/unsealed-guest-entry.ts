/** A Python guest whose JavaScript realm is open: the operating system has to hold it alone. */
import { serve } from "../../../src/sandbox/guest/main.ts";
import { openPython } from "../../../src/sandbox/guest/python.ts";

await serve(openPython, () => {});
