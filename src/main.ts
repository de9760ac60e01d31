/**
 * Runs the command that the command line arguments name. Processes that run user code (`guest`) or
 * accept events (`ingest`) also start here. Each branch imports only its own modules, so that a
 * guest starts within milliseconds.
 */
const [command, ...rest] = process.argv.slice(2);

if (command === "guest") {
  const { startGuest } = await import("./sandbox/guest/start-guest.ts");
  await startGuest(rest[0] ?? "");
} else if (command === "ingest") {
  const { runIngestProcess } = await import("./ingest/process/main.ts");
  const { openPartitions } = await import("./cli/open-partitions.ts");
  process.exit(await runIngestProcess(openPartitions));
} else {
  const { run } = await import("./cli/cli.ts");
  process.exit(await run(process.argv.slice(2)));
}
