import { test } from "bun:test";
import { join } from "node:path";
import { crashRounds, refuseVacuous } from "./crash.ts";
import { temporaryDirectory } from "./support.ts";

test("SIGKILL under load loses nothing acknowledged and invents nothing", async () => {
  refuseVacuous(await crashRounds(join(temporaryDirectory(), "log"), 30));
}, 300_000);
