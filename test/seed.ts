/** Environment variable by which the runner hands its seed to the processes of a run. */
export const seedVariable = "PROPERTY_SEED";

/**
 * Seed of all properties of a run. The runner takes it from the commit: a commit that passed here
 * draws the same values in CI, and the next commit draws others. Without the runner each process
 * draws its own.
 */
export const runSeed = Number(process.env[seedVariable] ?? Date.now() % 2 ** 31);
