/** A Python guest whose JavaScript realm is open: the operating system has to hold it alone. */

import { openPython } from "../../../src/sandbox/guest/python/python-runtime.ts";
import { serve } from "../../../src/sandbox/guest/start-guest.ts";

await serve(openPython, () => {});
