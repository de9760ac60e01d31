/** The runner is imported as text (`with { type: "text" }`): it runs in other realms. */
declare module "*.realm.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a text module has no other export.
  export default text;
}
