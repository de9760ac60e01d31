/**
 * Type of the files of the runner, the code that calls user functions. The files are imported as
 * text (`with { type: "text" }`), because they run in other contexts.
 */
declare module "*.realm.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a text module has no other export.
  export default text;
}
