/** Starts a guest as the executable's own `guest` command does. */
import { startGuest } from "../../src/sandbox/guest/start-guest.ts";

await startGuest(process.argv[3]);
