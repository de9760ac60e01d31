/** Command that starts this executable again; in a checkout, Bun with the entry file. */
export const selfCommand: readonly string[] = Bun.main.startsWith("/$bunfs/")
  ? [process.execPath]
  : [process.execPath, Bun.main];
