/** A host whose guests are busy for ever; tells their process ids, one line of JSON. */
import { batch, childProcesses, program, sandboxWithSpares } from "../support.ts";

const sandbox = sandboxWithSpares({ limits: { cpuMs: 600_000, wallMs: 600_000 } });
for (const workspaceId of ["w1", "w2"]) {
  await sandbox.run(
    program("export const transformEvent = () => null", { workspaceId }),
    batch({}),
  );
  const looping = "export const transformEvent = () => { for (;;); }";
  sandbox.run(program(looping, { workspaceId }), batch({})).catch(() => {});
}
process.stdout.write(`${JSON.stringify(childProcesses())}\n`);
