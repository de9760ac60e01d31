import { test } from "bun:test";
import { join } from "node:path";
import { runs } from "../tier.ts";
import { crashRounds, refuseVacuous } from "./crash.ts";
import { temporaryDirectory } from "./support.ts";

test("SIGKILL under load loses nothing acknowledged and invents nothing", async () => {
  refuseVacuous(await crashRounds(join(temporaryDirectory(), "log"), runs(10, 30)));
}, 300_000);
